/** What a root file system is made of. All globs are relative to its root, without a leading slash. */
export interface RootfsRecipe {
  /** Debian packages; their dependencies come along. */
  readonly packages: readonly string[];
  /** When given, only these files stay. */
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

/** What all of them lose: what a package writes for its maintainer scripts, for people, or for the machine it was installed on. */
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

const base: RootfsRecipe = {
  packages: ['base-files', 'ca-certificates', 'libc6', 'libgcc-s1', 'libstdc++6'],
  keep: [
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
  ],
  files: {},
  symlinks: {},
  kind: 'accounts',
  compilePython: false,
};

const tools: RootfsRecipe = {
  packages:
    'base-files bash bzip2 ca-certificates coreutils curl dash debianutils diffutils findutils git grep gzip hostname jq less libc-bin libgcc-s1 libstdc++6 make mawk netbase patch procps python3 python3-pytest sed tar unzip util-linux xz-utils'.split(
      ' ',
    ),
  drop: [
    'usr/share/doc/**/!(copyright)',
    'usr/share/perl/**/*.pod',
    'usr/lib/python3*/{test,idlelib,turtledemo,ensurepip}/**',
    'usr/lib/git-core/{git-daemon,git-http-backend,git-http-push,git-imap-send,git-shell,scalar}',
    'usr/bin/{git-shell,scalar}',
    'usr/lib/*-linux-gnu/perl/*/CORE/**',
    'usr/{bin,sbin}/{adduser,addgroup,deluser,delgroup,dpkg*,update-alternatives}',
  ],
  // A volume's top folder belongs to root while the agent owns what is in it, which git takes
  // for somebody else's repository; here all repositories are the agent's.
  files: { 'etc/gitconfig': '[safe]\n\tdirectory = *\n' },
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
export const recipes = { base, tools, busybox } as const satisfies Record<string, RootfsRecipe>;
export type RecipeName = keyof typeof recipes;
