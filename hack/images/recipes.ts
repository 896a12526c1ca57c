// hack, images: packages and files of each root file system. Of other folders imports hack/cache, hack/cluster/build.

/** Description of a root file system. All globs are relative to its root, without a leading slash. */
export interface RootfsRecipe {
  /** Debian packages; their dependencies are included. */
  readonly packages: readonly string[];
  /** The only files that stay, when it is set. */
  readonly keep?: readonly string[];
  /** Files that go, beside the volatile ones. */
  readonly drop?: readonly string[];
  /** Files that no package has: path to content. */
  readonly files: Readonly<Record<string, string>>;
  /** Links that maintainer scripts would make: path to target. */
  readonly symlinks: Readonly<Record<string, string>>;
  /** A `busybox` gets one link per applet and no accounts; the others get accounts, certificates and `/tmp`. */
  readonly kind: 'accounts' | 'busybox';
  /** Python sources are compiled, because a read-only root never could. */
  readonly compilePython: boolean;
}

/** Debian's release, for all root file systems. */
export const debianRelease = 'trixie';

/** The user that all images run as. */
export const agentUser = { name: 'agent', uid: 10001, gid: 10001, home: '/home/agent' } as const;

/**
 * Files removed from all of them: those that a package writes for its maintainer scripts, for people, or for the
 * machine it was installed on.
 */
export const volatileFiles: readonly string[] = [
  'boot/**',
  'dev/**',
  'etc/{hostname,resolv.conf,machine-id,fstab,ld.so.cache}',
  'etc/{apt,dpkg,cron.*,init.d,rc?.d,logrotate.d,systemd,update-motd.d}/**',
  'run/**',
  'usr/share/{man,info,lintian,bug,doc-base,locale,bash-completion,zsh,applications,menu,gitweb}/**',
  'usr/lib/{systemd,udev}/**',
  'var/{cache,log,backups}/**',
  'var/lib/{apt,dpkg,systemd,pam,misc}/**',
];

const baseKeep = [
  'bin',
  'lib',
  'lib64',
  'sbin',
  'etc/os-release',
  'usr/lib/os-release',
  'usr/lib64/*',
  'usr/lib/*-linux-gnu/{ld-linux-*,libc.so.*,libm.so.*,libmvec.so.*,libdl.so.*,libpthread.so.*,librt.so.*}',
  'usr/lib/*-linux-gnu/{libresolv.so.*,libnss_dns.so.*,libnss_files.so.*,libgcc_s.so.*,libstdc++.so.*}',
  'usr/lib/ld-linux-*',
  'usr/share/ca-certificates/mozilla/*',
  'usr/share/common-licenses/{GPL-2,GPL-3,LGPL-2.1}',
  'usr/share/doc/{base-files,ca-certificates,gcc-14-base,libc6,libgcc-s1,libstdc++6}/copyright',
];

const base: RootfsRecipe = {
  packages: ['base-files', 'ca-certificates', 'libc6', 'libgcc-s1', 'libstdc++6'],
  keep: baseKeep,
  files: {},
  symlinks: {},
  kind: 'accounts',
  compilePython: false,
};

/** Libraries of git and ssh, direct or indirect: package by package, so that scanners see each of them. */
const gitLibraries: Readonly<Record<string, string>> = {
  libbrotli1: 'libbrotli{common,dec}',
  'libcom-err2': 'libcom_err',
  'libcurl3t64-gnutls': 'libcurl-gnutls',
  libffi8: 'libffi',
  libgmp10: 'libgmp',
  libgnutls30t64: 'libgnutls',
  'libgssapi-krb5-2': 'libgssapi_krb5',
  libhogweed6t64: 'libhogweed',
  'libidn2-0': 'libidn2',
  libk5crypto3: 'libk5crypto',
  libkeyutils1: 'libkeyutils',
  'libkrb5-3': 'libkrb5',
  libkrb5support0: 'libkrb5support',
  libldap2: '{liblber,libldap}',
  libnettle8t64: 'libnettle',
  'libnghttp2-14': 'libnghttp2',
  'libnghttp3-9': 'libnghttp3',
  'libngtcp2-16': 'libngtcp2',
  'libngtcp2-crypto-gnutls8': 'libngtcp2_crypto_gnutls',
  'libp11-kit0': 'libp11-kit',
  'libpcre2-8-0': 'libpcre2-8',
  libpsl5t64: 'libpsl',
  librtmp1: 'librtmp',
  'libsasl2-2': 'libsasl2',
  libselinux1: 'libselinux',
  'libssh2-1t64': 'libssh2',
  libssl3t64: '{libcrypto,libssl}',
  'libtasn1-6': 'libtasn1',
  libunistring5: 'libunistring',
  libzstd1: 'libzstd',
  zlib1g: 'libz',
};

/** The base, and git over https and ssh. dash is there because git runs ssh through `sh`. */
const worker: RootfsRecipe = {
  ...base,
  packages: [...base.packages, 'dash', 'git', 'openssh-client', ...Object.keys(gitLibraries)],
  keep: [
    ...baseKeep,
    'usr/bin/{dash,git,sh,ssh}',
    'usr/lib/git-core/{git,git-remote-http,git-remote-https}',
    'usr/share/git-core/templates/{description,info/exclude}',
    ...Object.values(gitLibraries).map((library) => `usr/lib/*-linux-gnu/${library}.so.*`),
    `usr/share/doc/{dash,git,openssh-client,${Object.keys(gitLibraries).join(',')}}/copyright`,
  ],
};

const tools: RootfsRecipe = {
  packages:
    'base-files bash bzip2 ca-certificates coreutils curl dash debianutils diffutils findutils git grep gzip hostname jq less libc-bin libgcc-s1 libstdc++6 make mawk netbase patch procps python3 python3-pip python3-pytest python3-venv sed tar unzip util-linux xz-utils'.split(
      ' ',
    ),
  drop: [
    'usr/share/doc/**/!(copyright)',
    'usr/share/perl/**/*.pod',
    'usr/lib/python3*/{test,idlelib,turtledemo}/**',
    // No package manager of the system is left that pip could get in the way of.
    'usr/lib/python3*/EXTERNALLY-MANAGED',
    'usr/lib/git-core/{git-daemon,git-http-backend,git-http-push,git-imap-send,git-shell,scalar}',
    'usr/bin/{git-shell,scalar}',
    'usr/lib/*-linux-gnu/perl/*/CORE/**',
    'usr/{bin,sbin}/{adduser,addgroup,deluser,delgroup,dpkg*,update-alternatives}',
  ],
  // A volume's top folder belongs to root while the agent owns its content, which git takes for another user's
  // repository; here all repositories are the agent's. Tests that commit need a name. pip's cache is outside of snapshots.
  files: {
    'etc/gitconfig': '[safe]\n\tdirectory = *\n[user]\n\tname = agent\n\temail = agent@sandbox.invalid\n',
    'etc/pip.conf': '[global]\ncache-dir = /tmp/.pip\ndisable-pip-version-check = true\n',
  },
  symlinks: {
    'usr/bin/awk': 'mawk',
    'usr/bin/python': 'python3',
    'usr/bin/which': 'which.debianutils',
  },
  kind: 'accounts',
  compilePython: true,
};

const busybox: RootfsRecipe = {
  packages: ['busybox-static'],
  keep: ['usr/bin/busybox'],
  files: {},
  symlinks: {},
  kind: 'busybox',
  compilePython: false,
};

/** The root file systems by name. */
export const recipes = { base, worker, tools, busybox } as const satisfies Record<string, RootfsRecipe>;
export type RecipeName = keyof typeof recipes;
