#!/bin/sh
# make_deb.sh BUILD FOLDER - creates in FOLDER a Debian package of what `cmake
# --install` installs; if lintian is installed it must find nothing.
#
# One package: the library is not part of Debian, and nothing in Debian needs it
# without its headers.
set -u
cd "$(dirname "$0")/.." || exit 2
build=$1
dist=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
root=$work/debian/larder

fail() {
    echo "make_deb.sh: $*" >&2
    exit 1
}

# Run a command; print its output only if it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $*"
    }
}

for tool in dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null ||
        fail "$tool is missing: install the package dpkg-dev"
done

# ---- contents ---------------------------------------------------------------

architecture=$(dpkg --print-architecture)
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
# The libraries are installed in the loader's default path, so they need no
# RPATH.
quietly cmake -S . -B "$build" -DLARDER_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
    "-DCMAKE_INSTALL_LIBDIR=lib/$multiarch" -DCMAKE_SKIP_INSTALL_RPATH=ON \
    "-DCMAKE_C_FLAGS=$(dpkg-buildflags --get CPPFLAGS)" \
    "-DCMAKE_EXE_LINKER_FLAGS=$(dpkg-buildflags --get LDFLAGS)" \
    "-DCMAKE_SHARED_LINKER_FLAGS=$(dpkg-buildflags --get LDFLAGS)"
quietly cmake --build "$build" --parallel "$(nproc)"
quietly env DESTDIR="$root" cmake --install "$build" --strip
version=$("$build/larder" version | sed 's/larder //')-1

# The changelog's date is that of the newest commit, so that the same sources
# give identical packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
    stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
maintainer="${DEBFULLNAME:-The Larder authors} <${DEBEMAIL:-larder@localhost.localdomain}>"

doc=$root/usr/share/doc/larder
rm "$doc/LICENSE"
{
    echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
    echo
    echo 'Files: *'
    echo "Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE)"
    echo 'License: Expat'
    sed -n '/^Permission/,$s/^$/./; /^Permission/,$p' LICENSE | sed 's/^/ /; s/^ \.$/ ./'
} >"$doc/copyright"
gzip -9n "$doc/CHANGELOG.md"
mv "$doc/CHANGELOG.md.gz" "$doc/changelog.gz"
{
    echo "larder ($version) unstable; urgency=medium"
    echo
    echo '  * See changelog.gz.'
    echo
    echo " -- $maintainer  $date"
} | gzip -9n >"$doc/changelog.Debian.gz"
find "$root/usr/share/man" -type f -exec gzip -9n {} +
# Strip static libraries of what the linker does not need.
find "$root" -name '*.a' -exec strip --strip-debug {} +
find "$root" -type d -exec chmod 0755 {} +
find "$root" -name '*.so*' -type f -exec chmod 0644 {} +

mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/larder" <<'END'
# A single package contains all libraries, their headers and the command.
larder: package-name-doesnt-match-sonames *
larder: link-to-shared-library-in-wrong-package *
# Loaded by file name with LD_PRELOAD; nothing links with it.
larder: sharedobject-in-library-directory-missing-soname *liblarder_preload.so*
# Only one of several browsers that are tried.
larder: missing-depends-on-sensible-utils *
# Not an upload to Debian; DEBFULLNAME and DEBEMAIL name the maintainer.
larder: initial-upload-closes-no-bugs *
larder: bogus-mail-host *
larder: bogus-mail-host-in-debian-changelog *
END

# ---- control files ------------------------------------------------------------

mkdir -p "$root/DEBIAN"
printf 'activate-noawait ldconfig\n' >"$root/DEBIAN/triggers"
find "$root/usr/lib/$multiarch" -maxdepth 1 -type l -name '*.so.[0-9]' -printf '%f\n' |
    LC_ALL=C sort | sed 's/\(.*\)\.so\.\(.*\)/\1 \2 larder (>= '"${version%-*}"')/' \
    >"$root/DEBIAN/shlibs"
# dpkg-shlibdeps requires debian/control of a source package.
printf 'Source: larder\n\nPackage: larder\nArchitecture: any\n' \
    >"$work/debian/control"
# The libraries of simulated GPUs are in subfolders and depend on each other.
folders=$(cd "$work" && find "debian/larder/usr/lib/$multiarch" -type d -printf '-l%p ')
# The folders are words of their own.
# shellcheck disable=SC2086
(cd "$work" && find debian/larder/usr -type f \( -name '*.so*' -o -path '*/bin/*' \) \
    -exec dpkg-shlibdeps -O "-Ldebian/larder/DEBIAN/shlibs" $folders \
    -xlarder {} + 2>log >depends) || {
    cat "$work/log" >&2
    fail 'dpkg-shlibdeps failed'
}
depends=$(sed -n 's/^shlibs:Depends=//p' "$work/depends")
[ -n "$depends" ] || fail 'dpkg-shlibdeps found no libraries'
cat >"$root/DEBIAN/control" <<END
Package: larder
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -k -s "$root/usr" | cut -f 1)
Depends: $depends
Recommends: python3
Section: devel
Priority: optional
Description: caching memory allocator for GPUs
 A caching memory allocator for GPUs as a library in C, with a simulated GPU
 built in, and a command that says of recorded training jobs where their memory
 went, whether they would fit on another card, and under which settings.
 .
 The package has the libraries with their headers, the command larder, the
 preload library for CUDA programs and the package for Python.
END
(cd "$root" && find usr -type f -printf '%P\n' | LC_ALL=C sort |
    sed 's,^,usr/,' | tr '\n' '\0' | xargs -0 md5sum >DEBIAN/md5sums)

# ---- the package ----------------------------------------------------------------

mkdir -p "$dist" || exit 2
deb=$dist/larder_${version}_$architecture.deb
quietly dpkg-deb --root-owner-group --build "$root" "$deb"
echo "$deb"
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "$deb" ||
        fail 'lintian found what is above'
    echo 'lintian: clean'
else
    echo 'not looked at by lintian, which is not there'
fi

# Unpack it and run its command with its libraries.
quietly dpkg-deb -x "$deb" "$work/unpacked"
LD_LIBRARY_PATH=$work/unpacked/usr/lib/$multiarch \
    "$work/unpacked/usr/bin/larder" lab run --device sim:24GiB,backing=none \
    move_and_reuse >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    fail 'the command in it does not run'
}
