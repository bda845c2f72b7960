// Package image builds the image of deploy/Containerfile with buildah and runs what is in it:
// as the image's user, in a chroot that is mounted read-only. Its tests have the build tag
// image, because they need buildah and root: `make image-check` runs them.
package image
