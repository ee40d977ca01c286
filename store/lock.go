package store

import "errors"

// ErrServed says that another process serves the database.
var ErrServed = errors.New("the database is served by another gapless")

// lockSuffix makes the name of the file beside a database that its server holds
// locked. The lock goes with the process, however that ends; the file stays.
const lockSuffix = ".lock"
