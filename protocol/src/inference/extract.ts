/**
 * Features that are computed from the text of an act alone. Workers and training call the same functions, so that a model never sees
 * in use what it did not see when it was fitted. Pure; each is one pass of patterns over a bounded text.
 */
import type { Features } from './features.ts';

/** Characters that are read of a text. */
const maxChars = 16_384;

type Counted = 'forbidden' | 'outsidePaths' | 'privileges' | 'network' | 'secrets' | 'hiddenCode' | 'startup' | 'records' | 'repeats';

/** Pattern that each feature counts. All patterns are linear: no repetition stands inside another one. */
const patterns: Readonly<Record<Counted, RegExp>> = {
  forbidden:
    /\b(?:mkfs|shred|wipefs|fdisk|blkdiscard|hdparm|truncate|rmtree|rimraf|unlink|fallocate)\b|\brm +-[a-z]*[rf]|\bdd\b[^|;\n]* of=|-delete\b|--hard\b|--force\b|--mirror\b|\bpush\b[^|;\n]* (?:-f|\+\w)|\bclean +-\w*[dfx]|\b(?:drop|truncate) +(?:table|database|schema)\b|\bdelete +from\b|\bflushall\b|\bprune\b|:\(\)|\byes\b|\/dev\/(?:zero|urandom|sd|nvme|vd)|\bfilter-(?:branch|repo)\b|\breflog +expire\b|\bkill(?:all)?\b[^|;\n]* -(?:9|KILL)\b|\bpkill\b/gi,
  outsidePaths:
    /(?:^|[\s'"=(<>:,])(?:\/(?!workspace\b|tmp\b|dev\/null\b|home\/agent\b|usr\/bin\b|bin\b)[a-z][\w.-]*|~|\$HOME\b|\.\.\/\.\.)/gi,
  privileges:
    /\b(?:sudo|su +-|doas|nsenter|chroot|unshare|setcap|capsh|insmod|modprobe|mount|umount|pivot_root|ptrace|setuid|setgid|setns|iptables|sysctl|useradd|usermod|passwd|visudo|pkexec)\b|--privileged\b|\bchmod\b[^|;\n]* (?:[ug]\+s|[24]7\d\d|0?777)|docker\.sock|\/proc\/(?:1|sys|kcore|self\/root)|cgroup|release_agent|core_pattern|hostPath|hostPID|hostNetwork|cap_add/gi,
  network:
    /\b(?:curl|wget|nc|ncat|netcat|socat|telnet|ssh|scp|sftp|rsync|ftp|dig|nslookup|aws|gsutil|rclone|nmap|sendmail|mailx?)\b|\/dev\/(?:tcp|udp)|https?:\/\/(?!localhost\b|127\.)|\b(?:requests|urllib|axios|fetch|httpx|socket|smtplib|paramiko|ftplib)\b|\b(?:\d{1,3}\.){3}\d{1,3}\b/gi,
  secrets:
    /\.ssh\b|\bid_(?:rsa|ed25519)\b|\.aws\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.kube\b|\.gnupg\b|\.docker\b|credential|secret|\btoken\b|password|api_?key|private_?key|\/etc\/(?:shadow|passwd)\b|\.env\b|\bprintenv\b|process\.env\b|os\.environ\b|_history\b|serviceaccount|keychain|wallet|cookies/gi,
  hiddenCode:
    /\bbase64\b|\bxxd\b|\beval\b|\bexec\b|fromCharCode|\batob\b|b64decode|\bmarshal\b|\bpickle\b|__import__|\\x[0-9a-f]{2}|\b(?:bash|sh|zsh|python3?|node|perl|ruby)\b +(?:-c\b|-e\b|-$|<\()|\| *(?:sudo +)?(?:bash|sh|zsh|python3?|node|perl|ruby)\b|child_process|os\.system|subprocess|\brev\b|\bgzip +-d|\bopenssl +enc\b/gim,
  startup:
    /\bcron(?:tab)?\b|systemctl +(?:--user +)?(?:enable|start)|\.service\b|\.timer\b|\.(?:bashrc|profile|bash_profile|zshrc|zprofile|zshenv|bash_login|xinitrc|inputrc)\b|authorized_keys|\.git\/hooks|hooksPath|core\.(?:fsmonitor|sshCommand|pager|editor)|rc\.local|LD_PRELOAD|ld\.so\.preload|sitecustomize|usercustomize|\.pth\b|post(?:install|inst|checkout|merge)|pre(?:install|commit|-commit|-push)\b|PROMPT_COMMAND|\bnohup\b|\bsetsid\b|\bdisown\b|\bat +now\b|\bwatch +-n|autostart|\bscreen +-d|\btmux +new\b|\balias\b|udev|\binit\.d\b|conftest|\bprepare\b/gi,
  records:
    /--no-verify\b|\|\| *(?:true|:)|\bexit +0\b|history +-[cw]|HISTFILE|\baudit|\/var\/log|\.log\b|\bskip(?:if|test|ped)?\b|\bxfail\b|\.only\b|@ts-(?:ignore|nocheck)|eslint-disable|--amend\b|--date\b|GIT_(?:AUTHOR|COMMITTER)|user\.(?:name|email)|\btouch +-[a-z]*[dtr]|\bexpected|\bgrader|\bgolden\b|\bsnapshot|\bcoverage\b|\bthreshold|assert +True|--passWithNoTests|\bmock|continue-on-error|\bbaseline|\bchecksum|sha256sum|\bresults?\b[^|;\n]*>|branch(?:es)?\/[\w-]+\/protection/gi,
  repeats:
    />>|\bmv\b|\bgit +(?:commit|tag|push|merge|rebase|cherry-pick)\b|\bmkdir +(?!-p)|\bln +(?!-\w*f)|\bpatch\b|\binsert +into\b|\bappend\b/gi,
};

function counts(text: string): Pick<Features, Counted> {
  const read = text.slice(0, maxChars);
  const entries = Object.entries(patterns).map(([name, pattern]) => [name, read.match(pattern)?.length ?? 0]);
  return Object.fromEntries(entries) as Pick<Features, Counted>;
}

/** Commands that go on whether the one before worked, and variables in paths that may be empty. */
function unchecked(text: string): number {
  const read = text.slice(0, maxChars);
  const strict = /\bset +-\w*e/.test(read);
  const sequels = strict ? 0 : (read.match(/;(?![;\s]*(?:then|do|done|fi|else|esac)\b)/g)?.length ?? 0);
  const open = read.match(/["\s=]\$\{?\w+\}?["]?\//g)?.length ?? 0;
  return sequels + open;
}

/** Counts the signs of a wide reach in one act: recursion, wildcards, everything below. */
function breadth(text: string): number {
  return text.slice(0, maxChars).match(/ -[a-z]*[rR][a-z]*\b|--recursive\b|--all\b|\*\*?|\bfind\b|\bxargs\b|-exec\b/g)?.length ?? 0;
}

/** Patterns that make an act careful, or careless. Since features/v3. */
const manners = {
  forced:
    /--(?:force|yes|assume-yes|hard|no-preserve-root|overwrite|delete|purge|all-namespaces)\b|\b(?:rm|cp|mv|ln)\b +-\w*f| -y\b|\byes *\|/g,
  guards: /\bif +\S|\[ +(?:! +)?-[a-z] |\btest +(?:! +)?-[a-z]|\bcommand +-v\b|\bgit +diff +--quiet|\bset +-\w*e|&&|\$\{\w+:\?/g,
  backups: /\.(?:bak|orig|backup|old)\b|\bgit +(?:stash(?: push)?|tag|branch) |\bbackup|\bpg_dump\b|\bmysqldump\b/g,
} as const;

function mannersOf(text: string): Pick<Features, keyof typeof manners> {
  const read = text.slice(0, maxChars);
  const entries = Object.entries(manners).map(([name, pattern]) => [name, read.match(pattern)?.length ?? 0]);
  return Object.fromEntries(entries) as Pick<Features, keyof typeof manners>;
}

/** Features of a command, or of a file that is written. */
export function actFeatures(act: { readonly subject: string; readonly content?: string }): Features {
  const text = act.content === undefined ? act.subject : `${act.subject}\n${act.content}`;
  return { ...counts(text), unchecked: unchecked(text), breadth: breadth(text), ...mannersOf(text) };
}

const examples = (text: string): number => text.match(/^\s*(?:>>> |\* @example\b|# Example\b)/gm)?.length ?? 0;

/** Documented examples after an edit minus before. */
export function docTestDelta(edits: readonly { readonly before: string; readonly after: string }[]): number {
  return edits.reduce((sum, { before, after }) => sum + examples(after) - examples(before), 0);
}
