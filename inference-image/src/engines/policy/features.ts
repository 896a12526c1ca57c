import type { JudgedAct } from '@agentfleet/protocol/inference';

/** Whether a text shows something. */
interface Pattern {
  test(text: string): boolean;
}

/** Shown by texts that show one of them. */
function anyOf(...patterns: readonly Pattern[]): Pattern {
  return { test: (text) => patterns.some((pattern) => pattern.test(text)) };
}

const lineEnd = /[\n\r\u2028\u2029]/g;

interface Match {
  readonly start: number;
  readonly end: number;
}

/** Finds the first match that starts at a place or behind it, for places that never go back: the text is read once. */
function cursor(pattern: RegExp, text: string): (from: number) => Match | undefined {
  let found: Match | undefined = { start: -1, end: 0 };
  return (from) => {
    if (found === undefined || found.start >= from) return found;
    pattern.lastIndex = from;
    const match = pattern.exec(text);
    found = match === null ? undefined : { start: match.index, end: match.index + match[0].length };
    return found;
  };
}

/**
 * Shown by texts with a line that has all parts, one behind the other: as `/one.*two/`, which takes quadratic time where a
 * line repeats the first part. Parts match at least one character, and none of their matches is inside another one.
 */
function inOrder(...parts: readonly [RegExp, ...RegExp[]]): Pattern {
  const [first, ...others] = parts.map(({ source, flags }) => new RegExp(source, `${flags}g`)) as [RegExp, ...RegExp[]];
  return {
    test: (text) => {
      const begin = cursor(first, text);
      const rest = others.map((other) => ({ next: cursor(other, text), line: cursor(lineEnd, text) }));
      /** The end of all parts behind a place on its line; undefined: they are not there. */
      const endOf = (from: number): number | undefined =>
        rest.reduce<number | undefined>((end, { next, line }) => {
          if (end === undefined) return undefined;
          const match = next(end);
          return match === undefined || match.start > (line(end)?.start ?? text.length) ? undefined : match.end;
        }, from);
      for (let at = begin(0); at !== undefined; at = begin(at.end)) if (endOf(at.end) !== undefined) return true;
      return false;
    },
  };
}

/**
 * Patterns that a security engineer checks first. A concept is weaker than a rule: it never decides, the classifier
 * learns its weight, alone and beside others. Matched on the raw text, so that programs inside strings count too. The time
 * of each grows linearly with the text: no `.*` after what a line may have many times, no two repetitions of one sign in a row.
 */
export const concepts: Readonly<Record<string, Pattern>> = {
  deletes: /\b(rm|unlink|shred|rmtree|rmSync|rmdir|removeSync|wipefs|userdel)\b|-delete\b|\bos\.remove\b|--remove-files|--delete\b/,
  recursive: /\s-[a-qs-z]*(r[a-z]*(R[a-z]*)?|R[a-z]*)\b|--recursive|\s-xdev\b|rmtree|recursive: true/,
  everything: /(^|[\s'"=(])(\/|~|\$HOME|\/\*|~\/\*?|\$HOME\/\*?)(?=$|[\s'";,)])|--no-preserve-root|preserve-root|(\.\.\/){2}\*/,
  systemPath: /(^|[\s'"=(>:@])\/(etc|usr|var|lib|boot|bin|sbin|opt|srv|home|root|sys)\b/,
  wholeTree: /(^|[\s'"(])(\/|~|\/(etc|usr|var|lib|boot|opt|srv|home)\S*)\/?\*?(?=$|[\s'";,)])/,
  device: /\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|mapper)/,
  formats: /\b(mkfs(\.\w+)?|fdisk|parted|dd|lvremove|debugfs|mklabel)\b/,
  stopsMachine: /\b(shutdown|reboot|halt|poweroff|sysrq|kexec)\b|\bkill(all)?\s+-9\s+-1|killall\b|pkill\s+-9|fork\b/,
  dropsData:
    /\bdrop\s+(database|table|schema)|\btruncate\s+(table\s+)?\w+\s+(cascade|;)?|flushall|dropDatabase|dropdb|\bdestroy\b|delete\s+(namespace|pods?|pvc|projects)\b|--all\b|\bprune\b|\brb\b/i,
  production: /\bprod(uction)?\b|\bbackups?\b/i,
  forces: /--force\b(?!-)|-auto-approve|--purge|cascade/i,
  rewritesHistory: anyOf(inOrder(/push\s/, /--force(?!-)|--mirror|--delete|\s:\w/), /filter-branch|reflog\s+expire|rm\s+-rf\s+\.git\b/),
  outside:
    /\b(https?|ftp|rsync|tcp):\/\/(?!localhost|127\.|0\.0\.0\.0)|\b(?!127\.|0\.0\.0\.0)\d{1,3}(\.\d{1,3}){3}\b|\w@[\w-]+(\.[\w-]+)+:|\/dev\/(tcp|udp)\//,
  sends: anyOf(
    inOrder(/\bcurl\b/, /\s-(d|F|T|H)\b|--data|--upload-file|-X\s*POST/),
    /--post-file|\b(nc|ncat|netcat|scp|sftp|socat|rsync|mail|telnet)\b|requests\.post|urlopen|sendall|http\.Post|\bPOST\b|\.connect\(|\bdig\b|nslookup|gethostbyname|s_client/,
  ),
  fetches: /\b(curl|wget|urlopen|fetch)\b/,
  secretFile:
    /\.ssh\b|id_(rsa|ed25519|dsa)|\.aws\b|\.netrc|\.kube\b|\.npmrc|(^|[\s'"/@<])\.env\b(?!\.example)|git-credentials|gcloud|serviceaccount\/token|\.docker\/config|\/etc\/(shadow|passwd)|\.gnupg|\.pem\b|\.key\b|\/run\/secrets|secret-keys/,
  secretName: /\b(?=[A-Z_]+\b)[A-Z_]*(SECRET|TOKEN|PASSWORD|API_KEY|PRIVATE)|\bsecrets?\b|credentials|password/,
  environment: /\b(printenv|os\.environ|process\.env|os\.Environ|environ)\b|(^|[|;&(\s])env\s*([|)]|$)/,
  metadata: /169\.254\.169\.254|metadata\.google|config view --raw/,
  archives: /\b(tar\s+-?c|zip\s+-r|gzip|bundle\s+create|pg_dump|mysqldump)/,
  encodes: /\b(base64|xxd|hex|gpg|openssl\s+enc)\b/,
  searchesAll: anyOf(inOrder(/\bfind\b/, /\s(\/|~|\/etc|\/home)(\s|$)/), inOrder(/\bgrep\b/, /-\w*r\w*/, /\s(\/|~|\/etc|\/home)(\s|$)/)),
  servesFiles: /http\.server|--directory|--bind/,
  runsFetched: /\|\s*(sudo\s+)?(ba|da|z)?sh\b|<\(\s*curl|\$\(\s*(curl|wget)|`(curl|wget)|\bexec\s*\(|\beval\b/,
  interactiveShell: /\b(ba|z)?sh\s+-i\b|\/bin\/(ba)?sh\b|\bpty\b|EXEC:|fsockopen|TCPSocket|dup2/,
  hostProcess: /\/proc\/(1|\*)\/|nsenter|--target\s+1|-t\s+1\b|-p\s+1\b|--pid=host|hostPID|hostNetwork|hostPath|pid:\s*host|setns|ptrace/,
  namespaces: /\b(unshare|chroot|nsenter|mount|capsh|setcap|setpriv|mknod|insmod|modprobe|sysctl|pivot_root)\b/,
  kernel: /\/proc\/sys\/|\/sys\/fs|core_pattern|release_agent|cgroup|\.ko\b/,
  privileged: /privileged|cap_sys_admin|cluster-admin|-perm\s+-?4|\bu?\+s\b|\b4[0-7]{3}\b|setuid|LD_PRELOAD|ld\.so\.preload/,
  root: /\bsudo\b|\bsu\s+(-|root)|pkexec|\broot\b|NOPASSWD|--uid=0|-u\s+0\b/,
  runtimeSocket: /docker\.sock|containerd|crictl|\bctr\b|unix:\/\//,
  tunnel: anyOf(inOrder(/\bssh\b/, /\s-(R|D|L|N)\b/), /chisel|tunnel|socks/),
  link: /\bln\s+-s\w*|symlink/,
  temporaryProgram: /\/tmp\/[.\w]+/,
  startup: anyOf(
    inOrder(/\bsystemctl\b/, /\b(enable|start)\b/),
    /\.(bashrc|profile|zshrc|bash_profile)\b|\/etc\/(profile|rc\.local|cron|init\.d|systemd|pam\.d|sudoers)|\bcrontab\b|@reboot|autostart|systemd\/|update-rc\.d|WantedBy|\bat\s+(now|midnight)|cron\./,
  ),
  detaches: /\b(nohup|disown|setsid|screen\s+-d|tmux\s+new|daemon|telnetd|dropbear)\b|&\s*$|--restart=always/,
  accounts: /authorized_keys|ssh-copy-id|useradd|adduser|usermod|passwd\b|sudoers|chpasswd|sshd_config|PermitRootLogin|ssh-(rsa|ed25519)\s/,
  gitHooks: /\.git\/hooks|hooksPath|core\.\w+Command|alias\.\w+\s/,
  replacesPrograms: anyOf(
    inOrder(/\b(cp|mv|install|ln|echo)\b/, /\s(\/usr\/(local\/)?s?bin|\/bin)\/\w/),
    /node_modules\/\.bin|sitecustomize|site-packages|\.pth\b|script-shell|ca-certificates/,
  ),
  globalConfig: /--global\b|--location=global|config\s+set|resolv\.conf|\/etc\/hosts|registry=|index-url/,
  testPath: /(^|[\s'"/])(tests?|spec|__tests__)(\/|\b)|\.test\.\w+|_test\.\w+|_spec\.\w+|conftest\.py/,
  changesFiles: /\b(sed\s+-i|perl\s+-pi|mv|cp|truncate|tee|rm|git\s+rm|touch)\b|>\s*\S|checkout\s+\S+\s+--/,
  neutralises:
    /\bassert\s+True\b|assertTrue|expect\(true\)|\.skip\b|\bskip_?\b|xfail|t\.Skip|\|\|\s*(true|exit 0)|exit\s+0\b|exit\(0\)|_exit|process\.exit|exitstatus|exitCode\s*=\s*0|\/bin\/true|\bpass\b|assert\/d|assert\.\*/,
  skipsChecks:
    /--no-verify|passWithNoTests|--deselect|--ignore|collect_ignore|testPathIgnore|assume-unchanged|skip-worktree|continue-on-error|fail.under|items\.clear|-u\s+\S*test/,
  checkScripts:
    /scripts[./](test|check)|"test":|pytest\.ini|addopts|Makefile|vitest\.config|\.github\/workflows|pyproject|pre-(push|commit)|\btest:\s/,
  logs: /\/var\/log|\.log\b|bash_history|HISTFILE|HISTSIZE|history\s+-c|journalctl|wtmp|lastlog/,
  watchers: /auditd|auditctl|rsyslog|keeper|watchdog|setenforce|\bufw\b|iptables|selinux|apparmor|audit\b/,
  times: anyOf(/\btouch\s+-[rdt]|date\s+-s|_DATE=|--date\b|--reset-author|--amend|git\s+replace/, inOrder(/rebase/, /--exec/)),
  detectsTest: /PYTEST|VITEST|NODE_ENV\s*===|"unittest"\s+in|TestCase\.\w+\s*=/,
  runsTests:
    /^(python3?\s+-m\s+(pytest|unittest)|pytest|npx\s+(vitest|jest|mocha)|(npm|yarn|pnpm)\s+(run\s+)?test|go\s+test|cargo\s+test|node\s+--test|make\s+(test|check)|vitest|jest|bundle\s+exec\s+rspec)\b/,
  onlyReads: /^(cat|less|head|tail|grep|rg|wc|ls|tree|diff|git\s+(diff|log|show|status|blame)|du|df|ps|jq|which)\b(?!.*[|>;&])/,
  developerTool: /^(git|npm|npx|pip|python3?|node|go|cargo|make|docker\s+(build|logs|compose)|yarn|pnpm|poetry|mvn|ruff|black|mypy|tsc)\b/,
  clusterPowers: /kube-system|cluster-admin|daemonset|serviceaccount|clusterrolebinding/i,
  ordinary: /\b(build|dist|out|target|node_modules|coverage|__pycache__|\.pytest_cache|\.mypy_cache|tmp\/cache)\b/,
  local: /localhost|127\.0\.0\.1/,
  example: /\.example\b|--dry-run|--check\b|-nd\b|--plan\b|--help\b|--version\b/,
};

/** Parts of a command line: words with their quotes taken off, and the operators between them. */
interface Lexeme {
  readonly kind: 'Word' | 'Operator';
  readonly text: string;
}

const operators = ['$(', '&&', '||', '>>', '<<', '|', ';', '&', '>', '<', '(', ')', '`', '\n'] as const;

/**
 * Splits a command line roughly as a shell would. It serves features, not a decision: errors only cost accuracy, gate 1
 * parses the real grammar. A substitution inside double quotes is read as a command.
 */
export function lex(line: string): readonly Lexeme[] {
  const found: Lexeme[] = [];
  let word = '';
  let quote = '';
  /** Quotes around the current substitution. */
  const outer: string[] = [];
  const end = (): void => {
    if (word !== '') found.push({ kind: 'Word', text: word });
    word = '';
  };
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at] as string;
    if (quote === "'" ? sign !== "'" : sign === '\\') {
      word += quote === "'" ? sign : (line[(at += 1)] ?? '');
    } else if (sign === quote) {
      quote = '';
    } else if (quote === '' && (sign === "'" || sign === '"')) {
      quote = sign;
    } else {
      const operator = operators.find((known) => line.startsWith(known, at));
      if (operator !== undefined && (quote === '' || operator === '$(' || operator === '`')) {
        end();
        found.push({ kind: 'Operator', text: operator });
        at += operator.length - 1;
        if (operator === '$(') outer.push(quote);
        if (operator === '$(') quote = '';
        if (operator === ')') quote = outer.pop() ?? '';
      } else if (quote === '' && /\s/.test(sign)) end();
      else word += sign;
    }
  }
  end();
  return found;
}

/** Parts of a path that become features; deeper ones carry little information. */
const pathDepth = 3;

/** Names before a value that are read (`--env=A=b` has two); what is behind more of them is not. */
const maxNames = 16;

/** Generalizes one word: the kind of path, flag, address or name. Digits become 0, so that `sda1` and `sdb2` are near. */
function wordTokens(word: string): readonly string[] {
  const tokens: string[] = [];
  let value = word;
  for (let names = 0; names < maxNames; names += 1) {
    const named = /^-{1,2}[a-z]/i.test(value) ? flagOf(value) : assignmentOf(value);
    if (named === undefined) return [...tokens, ...valueTokens(value)];
    tokens.push(...named.tokens);
    ({ value } = named);
    if (value === '') return tokens;
  }
  return tokens;
}

function valueTokens(word: string): readonly string[] {
  if (/^[a-z][a-z0-9+]*:\/\//i.test(word)) return urlTokens(word);
  if (/^\d{1,3}(\.\d{1,3}){3}(:\d+)?$/.test(word)) return ['<ip>'];
  if (/^\d+$/.test(word)) return ['<number>'];
  if (/^[A-Za-z0-9+/=_-]{40,}$/.test(word)) return ['<blob>'];
  const remote = /^(?:[\w.-]+@)?[\w.-]+:(?=[/~.\w])(.+)$/.exec(word);
  if (remote !== null && word.includes('@')) return ['<remote>', ...pathTokens(remote[1] ?? '')];
  if (word.includes('/') || /^[~.]/.test(word) || /^\$\{?HOME\b/.test(word)) return pathTokens(word);
  if (word.startsWith('$')) return ['<variable>', ...nameTokens(word)];
  return plainTokens(word);
}

function urlTokens(word: string): readonly string[] {
  const local = /^[a-z0-9+]+:\/\/(localhost|127\.|\[::1\]|0\.0\.0\.0)/i.test(word);
  const extension = /\.([a-z0-9]{1,5})$/i.exec(word)?.[1] ?? '';
  const scheme = /^[a-z0-9+]+/i.exec(word)?.[0].toLowerCase() ?? '';
  return [local ? '<url-here>' : '<url>', `<url:${scheme}>`, ...(extension === '' || local ? [] : [`<url.${extension}>`])];
}

/** Text before `=`, generalized, and the text behind it; empty: there is none. */
interface Named {
  readonly tokens: readonly string[];
  readonly value: string;
}

function assignmentOf(word: string): Named | undefined {
  const [, name, value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(word) ?? [];
  return name === undefined ? undefined : { tokens: ['<assign>', ...nameTokens(name)], value };
}

function flagOf(word: string): Named {
  const [name = '', value = ''] = word.split(/=(.*)/s);
  const tokens = name.startsWith('--') ? [name.toLowerCase()] : Array.from(name.slice(1, 5), (letter) => `-${letter}`);
  return { tokens, value };
}

function pathTokens(word: string): readonly string[] {
  const home = /^(~|\$\{?HOME\}?)/.test(word);
  const parts = word
    .replace(/^(~\w*|\$\{?HOME\}?)/, '')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  const kind = home ? '<home>' : word.startsWith('/') ? '<absolute>' : parts.includes('..') ? '<above>' : '<relative>';
  const named = parts.filter((part) => part !== '..').map((part) => part.toLowerCase().replaceAll(/\d+/g, '0'));
  const tokens = [kind, ...(named.length === 0 ? [`${kind}$`] : [])];
  if (kind !== '<relative>')
    for (let depth = 1; depth <= Math.min(pathDepth, named.length); depth += 1) tokens.push(kind + named.slice(0, depth).join('/'));
  const last = named.at(-1) ?? '';
  for (const part of named.slice(0, pathDepth)) if (part.startsWith('.') || kind !== '<relative>') tokens.push(`part:${part}`);
  for (const part of named.slice(0, -1)) tokens.push(`folder:${part}`);
  if (last !== '') tokens.push(...nameTokens(last), ...extensionTokens(last));
  return tokens;
}

function extensionTokens(name: string): readonly string[] {
  const extension = /.\.([a-z0-9]{1,6})$/.exec(name)?.[1];
  return extension === undefined ? [] : [`ext:${extension}`];
}

/** `AWS_SECRET_KEY`, `authorizedKeys`, `id_rsa`: its words. */
function nameTokens(name: string): readonly string[] {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/\d+/g, '0')
    .split(/[^a-z0-9]+/);
  return words
    .filter((part) => part.length > 1 || part === '0')
    .slice(0, 6)
    .map((part) => `name:${part}`);
}

function plainTokens(word: string): readonly string[] {
  const plain = word.toLowerCase().replaceAll(/\d+/g, '0');
  const whole = plain.length <= 24 ? [plain] : ['<long>'];
  const inner = word.split(/[^A-Za-z0-9_./~$-]+/).filter((part) => part !== '' && part !== word);
  const nested = inner.slice(0, 12).flatMap((part) => wordTokens(part));
  return [...whole, ...(/[^a-z0-9]/.test(plain) || /[A-Z]/.test(word) ? nameTokens(word) : []), ...extensionTokens(plain), ...nested];
}

/** Buckets of hashed features, a power of two; the weights of one class. */
export const buckets = 32_768;
/** Characters that are read: acts may be far longer than the part that shows their kind. */
const maxChars = 16_384;

/** Takes a feature: its text, or the rest of one whose beginning is hashed already. */
type Add = (feature: string, begun?: number) => void;

function bucketsOf(act: Pick<JudgedAct, 'tool' | 'subject' | 'content'>): ReadonlySet<number> {
  const found = new Set<number>();
  const add: Add = (feature, begun) => void found.add(bucketOf(feature, begun));
  add(`tool:${act.tool}`);
  if (act.tool !== 'FileWrite') commandFeatures(act.subject.slice(0, maxChars), add);
  else {
    for (const token of wordTokens(act.subject.includes('/') ? act.subject : `./${act.subject}`)) add(`file^${token}`);
    for (const line of (act.content ?? '').slice(0, maxChars).split('\n')) lineFeatures(line, add);
  }
  return found;
}

/** Words, words with their program, neighbours, and which program feeds which. A long program is hashed once for all its words. */
function commandFeatures(line: string, add: Add): void {
  let program = '';
  let fed = '';
  let [ofProgram, behind] = [hashed('^'), hashed('^_')];
  for (const { kind, text } of lex(line)) {
    if (kind === 'Operator') {
      add(`op:${text}`);
      fed = text === '|' ? program : '';
      if (!text.startsWith('>') && !text.startsWith('<')) [program, ofProgram] = ['', hashed('^')];
      behind = hashed(`${text}_`);
      continue;
    }
    const tokens = wordTokens(text);
    const isName = program === '' && !/^[A-Za-z_]\w*=/.test(text) && !['sudo', 'env', 'nohup', 'exec', 'time', 'then', 'do'].includes(text);
    if (isName) {
      program = (text.split('/').at(-1) ?? text).toLowerCase().replaceAll(/\d+/g, '');
      ofProgram = hashed(`${program}^`);
      add(`program:${program}`);
      if (fed !== '') add(`pipe:${fed}|${program}`);
    }
    for (const token of tokens) {
      add(token);
      if (!isName) add(token, ofProgram);
      add(token, behind);
    }
    behind = hashed(`${tokens[0] ?? ''}_`);
  }
}

function lineFeatures(line: string, add: Add): void {
  let before = '^';
  for (const word of line.split(/[\s()[\]{},;"'`<>|&!*+]+/)) {
    if (word === '') continue;
    const parts = word.includes('/') || word.startsWith('-') ? [word] : word.split(/[.:=@]+/).filter((part) => part !== '');
    for (const part of parts) {
      const tokens = wordTokens(part);
      for (const token of tokens) add(`text:${token}`);
      add(`text:${before}_${tokens[0] ?? ''}`);
      before = tokens[0] ?? '';
    }
  }
}

/** FNV-1a over UTF-16 units, of a text or of more of one. */
function hashed(text: string, begun: number = 0x811c9dc5): number {
  let hash = begun;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

function bucketOf(feature: string, begun?: number): number {
  const hash = hashed(feature, begun);
  // The low bits alone mix badly.
  return ((hash >>> 15) ^ hash) & (buckets - 1);
}

function conceptsOf({ subject, content = '' }: Pick<JudgedAct, 'subject' | 'content'>): readonly string[] {
  const text = `${subject}\n${content}`.slice(0, maxChars);
  const shown = Object.keys(concepts).filter((name) => concepts[name]?.test(text));
  const pairs = shown.flatMap((one, at) => shown.slice(at + 1).map((other) => `${one}&${other}`));
  return [...shown, ...pairs];
}

/** A bucket and its value. */
export type Encoded = readonly (readonly [bucket: number, value: number])[];

/** Values of one concept and of a pair of them, beside words that share a unit length. */
const single = 2;
const pair = 0.5;

/** Words count little each; concepts much, once for all acts and once for acts of this kind. */
export function encode(act: Parameters<typeof bucketsOf>[0]): Encoded {
  const words = [...bucketsOf(act)];
  const kind = act.tool === 'FileWrite' ? 'text' : 'command';
  const shown = conceptsOf(act).flatMap((concept) => {
    const value = concept.includes('&') ? pair : single;
    return [[bucketOf(`concept:${concept}`), value] as const, [bucketOf(`concept:${kind}:${concept}`), value] as const];
  });
  return [...words.map((bucket) => [bucket, 1 / Math.sqrt(words.length)] as const), ...shown];
}
