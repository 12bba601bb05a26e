// Package cabundle gives webhook configurations the CA that their API servers
// need to call lockstep: those that ask for it with a label, or a fixed list.
//
// Every replica watches them, so that every replica can tell whether a new CA
// has arrived everywhere; only one patches. A patch names the version of the
// configuration that it was made from, touches caBundle alone, and is sent after
// the API server has confirmed the bundle. Configurations of others are never
// touched.
package cabundle
