import { bounded, lookup, substituted } from './command.ts';
import { child, named, type Node } from '../syntax/node.ts';
import { hole, markGlobs, star, withoutMarks } from './marks.ts';
import { escapes } from './words.ts';

/**
 * Effects of calls of a programming language, as the shell commands that would do the same: so the rails have one thing to judge.
 * Keys are `module.name`; `$0` is the first argument and so on.
 */
export type Effect =
  | { readonly kind: 'shell' | 'argv' | 'spawn' | 'code' }
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'open' };

const command = (...argv: readonly string[]): Effect => ({ kind: 'command', argv });

const table: readonly (readonly [RegExp, Effect])[] = [
  [
    /^(?:os\.(?:system|popen)|subprocess\.(?:getoutput|getstatusoutput)|commands\.getoutput|child_process\.exec(?:Sync)?|execSync|pexpect\.(?:spawn|run)|asyncio\.create_subprocess_shell|Bun\.\$)$/,
    { kind: 'shell' },
  ],
  [
    /^(?:subprocess\.(?:run|call|Popen|check_call|check_output)|pty\.spawn|Bun\.spawn(?:Sync)?|asyncio\.create_subprocess_exec)$/,
    { kind: 'argv' },
  ],
  [/^(?:child_process\.(?:spawn|spawnSync|execFile|execFileSync)|os\.(?:exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?))$/, { kind: 'spawn' }],
  [
    /^(?:eval|exec|builtins\.(?:eval|exec)|__builtins__\.(?:eval|exec)|Function|vm\.run\w*|vm\.Script|globalThis\.eval|code\.interact|runpy\.run_\w+)$/,
    { kind: 'code' },
  ],
  [
    /^(?:shutil\.rmtree|distutils\.dir_util\.remove_tree|fs\.(?:rm|rmSync|rmdir|rmdirSync)|fs-extra\.(?:remove|removeSync|emptyDirSync)|rimraf(?:\.sync|\.rimraf)?|Deno\.remove(?:Sync)?)$/,
    command('rm', '-rf', '$0'),
  ],
  [/^(?:os\.(?:remove|unlink|rmdir|removedirs)|fs\.(?:unlink|unlinkSync)|send2trash)$/, command('rm', '$0')],
  [/^(?:open|io\.open|codecs\.open|os\.open|os\.fdopen|fs\.(?:open|openSync))$/, { kind: 'open' }],
  [/^fs\.(?:readFile|readFileSync|createReadStream|readdir|readdirSync)$/, command('cat', '$0')],
  [/^fs\.(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|truncate|truncateSync)$/, command('tee', '$0')],
  [
    /^(?:shutil\.(?:copy|copyfile|copy2|copytree|move)|os\.(?:rename|replace|renames)|fs\.(?:copyFile|copyFileSync|cp|cpSync))$/,
    command('cp', '$0', '$1'),
  ],
  [/^fs\.(?:rename|renameSync)$/, command('mv', '$0', '$1')],
  [/^(?:os\.(?:symlink|link)|fs\.(?:symlink|symlinkSync|link|linkSync))$/, command('ln', '-s', '$0', '$1')],
  [/^(?:os\.(?:chmod|lchmod)|fs\.(?:chmod|chmodSync))$/, command('chmod', '$1', '$0')],
  [/^(?:os\.(?:chown|lchown)|fs\.(?:chown|chownSync))$/, command('chown', '$1', '$0')],
  [/^(?:os\.(?:kill|killpg))$/, command('kill', '-9', '$0')],
  [/^process\.kill$/, command('kill', '-9', '$0')],
  [/^os\.(?:setuid|seteuid|setgid)$|^process\.set(?:e?uid|e?gid)$/, command('su')],
  [/^os\.(?:unshare|setns|chroot|mount)$/, command('unshare')],
  [/^os\.(?:fork|forkpty)$/, command('fork')],
  [/^(?:os\.environ\.(?:items|copy|values)|json\.dumps\(os\.environ\))$/, command('printenv')],
  [
    /^(?:requests|httpx|urllib3|aiohttp|urllib\.request|urllib2|axios|got|undici|http|https|node-fetch|superagent)\.(?:get|post|put|patch|delete|head|request|urlopen|urlretrieve|Request|stream)$|^(?:fetch|axios|got|urlopen|Deno\.connect|websockets\.connect|WebSocket)$/,
    command('curl', '$0'),
  ],
  [
    /^(?:socket\.(?:socket|create_connection)|net\.(?:connect|createConnection)|tls\.connect|dgram\.createSocket|http\.client\.HTTPS?Connection|ftplib\.FTP|smtplib\.SMTP|telnetlib\.Telnet|paramiko\.\w+|asyncio\.open_connection)$/,
    command('nc', '$0'),
  ],
];

export function effectOf(name: string): Effect | null {
  return table.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

/** Methods of a path object, whose own text is the first argument. */
export const pathMethods: Readonly<Record<string, readonly string[]>> = {
  unlink: ['rm', '$0'],
  rmdir: ['rm', '-r', '$0'],
  rmtree: ['rm', '-rf', '$0'],
  write_text: ['tee', '$0'],
  write_bytes: ['tee', '$0'],
  read_text: ['cat', '$0'],
  read_bytes: ['cat', '$0'],
  chmod: ['chmod', '$1', '$0'],
  symlink_to: ['ln', '-s', '$1', '$0'],
  rename: ['mv', '$0', '$1'],
  replace: ['mv', '$0', '$1'],
};

/** Possible value of an expression, as far as its text shows it. */
export type Abstract =
  | { readonly kind: 'text'; readonly text: string; readonly path?: true }
  | { readonly kind: 'list'; readonly items: readonly Abstract[] }
  | { readonly kind: 'record'; readonly entries: readonly (readonly [key: string, value: Abstract])[] }
  /** Content of a file. */
  | { readonly kind: 'content'; readonly path: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'unknown' };

export const nothingKnown: Abstract = { kind: 'unknown' };
export const textOf = (text: string): Abstract => ({ kind: 'text', text: bounded(text) });

const mostItems = 4096;

/** A list, or nothing where it has very many items. */
export const listOf = (items: readonly Abstract[]): Abstract => (items.length > mostItems ? nothingKnown : { kind: 'list', items });

/** Texts with another between each two; a hole where they have more than 128 Ki characters. */
export function joined(texts: readonly string[], by: string): string {
  let all = '';
  for (const [at, text] of texts.entries()) {
    all += `${at === 0 ? '' : by}${text}`;
    if (bounded(all) === hole) return hole;
  }
  return all;
}

/** Names that stand for a program. */
const own: Readonly<Record<string, string>> = {
  'sys.executable': 'python3',
  'process.execPath': 'node',
  'process.argv0': 'node',
  'os.sep': '/',
};

/** Its text, with a hole for what is not known. */
export function asText(value: Abstract | undefined): string {
  if (value?.kind === 'name') return lookup(own, value.name) ?? hole;
  return value?.kind === 'text' ? value.text : hole;
}

/** The text between the quotes of a literal, with its escapes obeyed. */
export function literal(node: Node): string {
  const [, prefix = '', quote = ''] = /^([a-zA-Z]*)("""|'''|"|'|`)/.exec(node.text) ?? [];
  const inside = node.text.slice(prefix.length + quote.length, node.text.length - quote.length);
  return prefix.toLowerCase().includes('r') ? inside : escapes(inside.replace(/\\\n/g, ''));
}

/** The local name and the full name of each thing that an import of Python or JavaScript brings. */
export function importsOf(node: Node): readonly (readonly [string, string])[] {
  const from = child(node, 'module_name') ?? child(node, 'source');
  const module = from === null ? null : from.type === 'string' ? literal(from) : from.text;
  return named(node)
    .filter((one) => one !== from)
    .flatMap((one) => (one.type === 'import_clause' ? clause(one, module ?? '') : [pythonName(one, module)]));
}

function pythonName(one: Node, module: string | null): readonly [string, string] {
  const aliased = one.type === 'aliased_import';
  const name = aliased ? (child(one, 'name')?.text ?? '') : one.text;
  const first = name.split('.')[0] as string;
  const local = aliased ? (child(one, 'alias')?.text ?? name) : module === null ? first : name;
  return [local, module === null ? (aliased ? name : first) : `${module}.${name}`];
}

function clause(node: Node, module: string): readonly (readonly [string, string])[] {
  return named(node).flatMap((one): (readonly [string, string])[] => {
    if (one.type === 'identifier') return [[one.text, module]];
    if (one.type === 'namespace_import') return [[named(one)[0]?.text ?? '', module]];
    return named(one).map((name) => [
      (child(name, 'alias') ?? child(name, 'name') ?? name).text,
      `${module}.${child(name, 'name')?.text ?? name.text}`,
    ]);
  });
}

/** Functions and methods of constants that people hide text behind. */
export function constantCall(name: string, self: Abstract | null, args: readonly Abstract[]): Abstract | null {
  const method = name.slice(name.lastIndexOf('.') + 1);
  const texts = args.map(asText);
  const [first = ''] = texts;
  const own = self?.kind === 'text' ? self.text : null;
  if (/^(?:chr|String\.from(?:CharCode|CodePoint))$/.test(name)) return textOf(texts.map(codePoint).join(''));
  if (/^(?:str|String|bytes|bytearray|repr|os\.fspath|os\.fsencode|os\.fsdecode)$/.test(name))
    return args[0]?.kind === 'list' ? textOf(args[0].items.map((one) => codePoint(asText(one))).join('')) : (args[0] ?? textOf(''));
  if (/^(?:base64\.(?:b64decode|standard_b64decode|urlsafe_b64decode|decodebytes)|atob)$/.test(name)) return decoded(first, 'base64');
  if (/^(?:bytes\.fromhex|binascii\.unhexlify|bytearray\.fromhex|codecs\.decode)$/.test(name))
    return texts[1] === 'rot13' || texts[1] === 'rot_13'
      ? textOf(rot13(first))
      : decoded(first, texts[1]?.startsWith('base64') === true ? 'base64' : 'hex');
  if (name === 'Buffer.from') return texts[1] === 'base64' || texts[1] === 'hex' ? decoded(first, texts[1]) : textOf(first);
  if (/^(?:(?:os\.)?path\.(?:join|resolve)|posixpath\.join)$/.test(name))
    return textOf(texts.reduce((all, one) => (one.startsWith('/') ? one : all === '' ? one : bounded(`${all}/${one}`)), ''));
  if (/^(?:(?:os\.)?path\.(?:expanduser|expandvars|abspath|realpath|normpath)|pathlib\.(?:Path|PosixPath|PurePath)|Path)$/.test(name))
    return { kind: 'text', text: joined(texts, '/').replace(/^~|^\$HOME|^\$\{HOME\}/, '~'), path: true };
  if (/^(?:Path|pathlib\.Path)\.home$|^os\.homedir$/.test(name)) return { kind: 'text', text: '~', path: true };
  if (/^(?:os\.getcwd|process\.cwd|Path\.cwd|pathlib\.Path\.cwd)$/.test(name)) return { kind: 'text', text: '.', path: true };
  if (/^(?:glob\.i?glob|glob\.sync|fs\.glob(?:Sync)?)$/.test(name)) return { kind: 'text', text: markGlobs(first), path: true };
  if (/^(?:os\.(?:walk|listdir|scandir|fwalk)|fs\.readdir(?:Sync)?)$/.test(name))
    return { kind: 'text', text: `${first.replace(/\/$/, '')}/${star}`, path: true };
  if (own === null) return self?.kind === 'list' ? ofList(method, self.items, first) : null;
  if (method === 'join') return args[0]?.kind === 'list' ? textOf(joined(args[0].items.map(asText), own)) : nothingKnown;
  return ofText(method, own, texts);
}

function ofList(method: string, items: readonly Abstract[], by: string): Abstract | null {
  if (method === 'join') return textOf(joined(items.map(asText), by === hole ? ',' : by));
  if (method === 'reverse') return { kind: 'list', items: [...items].reverse() };
  return null;
}

function ofText(method: string, own: string, texts: readonly string[]): Abstract | null {
  const [first = '', second = ''] = texts;
  if (/^(?:decode|encode|strip|rstrip|lstrip|trim|toString|expanduser|resolve|absolute|valueOf)$/.test(method))
    return { kind: 'text', text: own, path: true };
  // Folders of one name are not all that is there.
  if (
    /^r?glob$/.test(method) &&
    !first.includes(hole) &&
    /(?:^|\/)(?=[\w.-]*$)[\w.-]*\w/.test(first) &&
    !/(?:^|\/)\.\.(?:\/|$)/.test(first)
  )
    return { kind: 'text', text: `${own.replace(/\/$/, '')}/${method === 'rglob' ? `${star}/` : ''}${markGlobs(first)}`, path: true };
  if (/^(?:r?glob|iterdir)$/.test(method)) return { kind: 'text', text: `${own.replace(/\/$/, '')}/${star}`, path: true };
  if (/^(?:lower|toLowerCase)$/.test(method)) return textOf(own.toLowerCase());
  if (/^(?:upper|toUpperCase)$/.test(method)) return textOf(own.toUpperCase());
  if (/^(?:replace|replaceAll)$/.test(method) && texts.length === 2) return textOf(substituted(own, first, second));
  if (method === 'concat') return textOf(joined([own, ...texts], ''));
  if (method === 'split') return listOf(own.split(first === '' && texts.length === 0 ? /\s+/ : first, mostItems + 1).map(textOf));
  if (method === 'format') return textOf(joined(own.split(/\{\d*\}/), texts[0] ?? hole));
  if (method === 'joinpath') return { kind: 'text', text: joined([own, ...texts], '/'), path: true };
  return null;
}

function codePoint(text: string): string {
  const code = Number(text);
  return Number.isInteger(code) && code > 0 && code < 0xd800 ? String.fromCodePoint(code) : hole;
}

function decoded(text: string, encoding: 'base64' | 'hex'): Abstract {
  return textOf(text.includes(hole) ? hole : withoutMarks(Buffer.from(text, encoding).toString('utf8')));
}

function rot13(text: string): string {
  return text.replace(/[a-z]/gi, (one) => String.fromCharCode(one.charCodeAt(0) + (one.toLowerCase() < 'n' ? 13 : -13)));
}
