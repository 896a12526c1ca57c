import { lookup } from '../shell/lookup.ts';
import type { Node } from '../syntax/node.ts';
import { hole, markGlobs, star } from '../shell/marks.ts';
import { escapes } from '../shell/quote.ts';

/** What an expression may be, as far as its text tells. */
export type Abstract =
  | { readonly kind: 'text'; readonly text: string; readonly path?: true }
  | { readonly kind: 'list'; readonly items: readonly Abstract[] }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'unknown' };

export const nothingKnown: Abstract = { kind: 'unknown' };
export const textOf = (text: string): Abstract => ({ kind: 'text', text });

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
    return textOf(texts.reduce((all, one) => (one.startsWith('/') ? one : all === '' ? one : `${all}/${one}`), ''));
  if (/^(?:(?:os\.)?path\.(?:expanduser|expandvars|abspath|realpath|normpath)|pathlib\.(?:Path|PosixPath|PurePath)|Path)$/.test(name))
    return { kind: 'text', text: texts.join('/').replace(/^~|^\$HOME|^\$\{HOME\}/, '~'), path: true };
  if (/^(?:Path|pathlib\.Path)\.home$|^os\.homedir$/.test(name)) return { kind: 'text', text: '~', path: true };
  if (/^(?:os\.getcwd|process\.cwd|Path\.cwd|pathlib\.Path\.cwd)$/.test(name)) return { kind: 'text', text: '.', path: true };
  if (/^(?:glob\.i?glob|glob\.sync|fs\.glob(?:Sync)?)$/.test(name)) return { kind: 'text', text: markGlobs(first), path: true };
  if (/^(?:os\.(?:walk|listdir|scandir|fwalk)|fs\.readdir(?:Sync)?)$/.test(name))
    return { kind: 'text', text: `${first.replace(/\/$/, '')}/${star}`, path: true };
  if (own === null) return self?.kind === 'list' ? ofList(method, self.items, first) : null;
  if (method === 'join') return args[0]?.kind === 'list' ? textOf(args[0].items.map(asText).join(own)) : nothingKnown;
  return ofText(method, own, texts);
}

function ofList(method: string, items: readonly Abstract[], by: string): Abstract | null {
  if (method === 'join') return textOf(items.map(asText).join(by === hole ? ',' : by));
  if (method === 'reverse') return { kind: 'list', items: [...items].reverse() };
  return null;
}

function ofText(method: string, own: string, texts: readonly string[]): Abstract | null {
  const [first = '', second = ''] = texts;
  if (/^(?:decode|encode|strip|rstrip|lstrip|trim|toString|expanduser|resolve|absolute|valueOf)$/.test(method))
    return { kind: 'text', text: own, path: true };
  if (/^(?:r?glob|iterdir)$/.test(method)) return { kind: 'text', text: `${own.replace(/\/$/, '')}/${star}`, path: true };
  if (/^(?:lower|toLowerCase)$/.test(method)) return textOf(own.toLowerCase());
  if (/^(?:upper|toUpperCase)$/.test(method)) return textOf(own.toUpperCase());
  if (/^(?:replace|replaceAll)$/.test(method) && texts.length === 2) return textOf(own.replaceAll(first, () => second));
  if (method === 'concat') return textOf(own + texts.join(''));
  if (method === 'split') return { kind: 'list', items: own.split(first === '' && texts.length === 0 ? /\s+/ : first).map(textOf) };
  if (method === 'format') return textOf(own.replace(/\{\d*\}/g, () => texts[0] ?? hole));
  if (method === 'joinpath') return { kind: 'text', text: [own, ...texts].join('/'), path: true };
  return null;
}

function codePoint(text: string): string {
  const code = Number(text);
  return Number.isInteger(code) && code > 0 && code < 0xd800 ? String.fromCodePoint(code) : hole;
}

function decoded(text: string, encoding: 'base64' | 'hex'): Abstract {
  return textOf(
    text.includes(hole)
      ? hole
      : Buffer.from(text, encoding)
          .toString('utf8')
          .replace(/[\uE000-\uE00F]/g, '\uFFFD'),
  );
}

function rot13(text: string): string {
  return text.replace(/[a-z]/gi, (one) => String.fromCharCode(one.charCodeAt(0) + (one.toLowerCase() < 'n' ? 13 : -13)));
}
