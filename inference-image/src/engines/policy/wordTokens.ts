/** Parts of a path that are told; deeper ones say little. */
const pathDepth = 3;

/**
 * What is general about one word: which kind of path, flag, address or name it is. Digits become 0, so that `sda1` and `sdb2`
 * are near. At most a dozen tokens per word.
 */
export function wordTokens(word: string): readonly string[] {
  if (/^[a-z][a-z0-9+]*:\/\//i.test(word)) return urlTokens(word);
  if (/^\d{1,3}(\.\d{1,3}){3}(:\d+)?$/.test(word)) return ['<ip>'];
  if (/^-{1,2}[a-z]/i.test(word)) return flagTokens(word);
  const assigned = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(word);
  if (assigned !== null) return ['<assign>', ...nameTokens(assigned[1] ?? ''), ...(assigned[2] ? wordTokens(assigned[2]) : [])];
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

function flagTokens(word: string): readonly string[] {
  const [name = '', value] = word.split(/=(.*)/s);
  const flags = name.startsWith('--') ? [name.toLowerCase()] : Array.from(name.slice(1, 5), (letter) => `-${letter}`);
  return [...flags, ...(value ? wordTokens(value) : [])];
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
  const told = word.toLowerCase().replaceAll(/\d+/g, '0');
  const whole = told.length <= 24 ? [told] : ['<long>'];
  const inner = word.split(/[^A-Za-z0-9_./~$-]+/).filter((part) => part !== '' && part !== word);
  const nested = inner.slice(0, 12).flatMap((part) => wordTokens(part));
  return [...whole, ...(/[^a-z0-9]/.test(told) || /[A-Z]/.test(word) ? nameTokens(word) : []), ...extensionTokens(told), ...nested];
}
