// Package cabundle writes the CA into webhook configurations, so that API servers can call
// lockstep. It writes into the configurations with a label, or into the configurations of a fixed list.
//
// Every replica watches the configurations, so that every replica knows whether they all have
// a new CA. Only one replica patches. A patch names the version of the configuration that it is
// based on, changes only caBundle, and is sent after the API server has confirmed the bundle.
// Configurations of other operators are never changed.
package cabundle
