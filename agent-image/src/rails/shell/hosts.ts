// agent-image, rails/shell: network hosts that a command names. May import rails/verdict and rails/syntax, no rail.
import { args, operands, type Command } from './command.ts';
import { hasHole, hole, plain } from './marks.ts';

/** Options of curl and wget that take a word which is no address. */
const takesWord =
  /^(?:-[a-zA-Z]*[XdHoFTuAebcmwDPCr]|--(?:request|data[\w-]*|header|output|form[\w-]*|upload-file|user|user-agent|referer|cookie[\w-]*|max-time|connect-timeout|retry[\w-]*|cacert|cert|key|write-out|json|post-data|post-file|method|body-data|output-document|directory-prefix|timeout|tries))$/;
/** Options that send the request elsewhere than to its address. */
const reroutes = /^(?:-x|-K|--(?:proxy\d?[\w-]*|preproxy|socks\d\w*|resolve|connect-to|config|doh-url))(?:=|$)/;

/** The hosts that a command names; a hole for one that is not known. */
export function hostsOf(command: Command): readonly string[] {
  const all = args(command);
  const web = /^(?:curl|wget|http|https|xh|aria2c)$/.test(command.name);
  const skipped = new Set(web ? all.filter((_, i) => takesWord.test(all[i - 1] ?? '')) : []);
  const attached = all.flatMap((text) =>
    takesWord.test(text.split('=')[0] as string) ? [] : (/^--?[\w-]+=(?=.+$)(.+:\/\/.+)$/.exec(text)?.[1] ?? []),
  );
  const words = [...operands(command).filter((word) => !skipped.has(word)), ...attached];
  const hosts = words.map(hostOf).filter((host) => host !== '');
  return web && all.some((text) => reroutes.test(text)) ? [...hosts, hole] : hosts;
}

/** Host of a URL, `user@host:path`, or bare name; the parser also reads numbers such as 0x7f000001. */
export function hostOf(marked: string): string {
  const word = plain(marked);
  const scp = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)/.exec(word)?.[1];
  const url = /^[a-z][a-z+.-]*:\/\//i.test(word) ? word : `http://${scp ?? word}`;
  const host = /^[a-z][a-z+.-]*:\/\/(?:[^/@]*@)?([^/?#]*)/i.exec(url)?.[1] ?? '';
  if (hasHole(host)) return /^(?:localhost|127(?:\.\d+){3}|\[::1\]):/.test(host) ? 'localhost' : hole;
  try {
    return new URL(`http://${host}`).hostname.toLowerCase().replace(/\.$/, '');
  } catch {
    return word.startsWith('/') || word.startsWith('.') ? '' : host;
  }
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[0-9a-f:]+\]|0\.0\.0\.0|\[::\])$/.test(host);
}

/** Reports whether an option or variable of a tool of clouds or packages points it at an emulator or a registry of this machine. */
export function atEmulator(command: Command): boolean {
  const all = args(command);
  const named = all.flatMap((text, at) => {
    const attached = /^--(?:endpoint(?:-url)?|registry)=(.+)$/.exec(text)?.[1];
    return attached !== undefined ? [attached] : /^--(?:endpoint(?:-url)?|registry)$/.test(text) ? [all[at + 1] ?? ''] : [];
  });
  const set = [...command.env].filter(([name]) => /^AWS_ENDPOINT_URL(?:_\w+)?$|_EMULATOR_HOST$/.test(name)).map(([, { text }]) => text);
  const where = named.length > 0 ? named : set;
  return where.length > 0 && where.every((text) => isLoopback(hostOf(text)));
}

/** Addresses at which a cloud or a cluster hands out credentials. */
export function isMetadata(host: string): boolean {
  return /^(?:169\.254\.\d+\.\d+|100\.100\.100\.200|192\.0\.0\.192|\[fd00:ec2::254\]|\[::ffff:a9fe:[0-9a-f]+\]|metadata(?:\.google\.internal|\.azure\.com)?|instance-data|kubernetes(?:\.default.*)?)$/.test(
    host,
  );
}

/** Programs that bring text from a network. */
export const fetchers = new Set(
  'curl wget fetch aria2c lynx links w3m http https httpie nc ncat netcat socat ftp lftp axel scp sftp telnet ssh dig nslookup host tftp GET'.split(
    ' ',
  ),
);

/** `/dev/tcp/host/port`, which bash opens itself. */
export function deviceHost(text: string): string | null {
  return /^\/dev\/(?:tcp|udp)\/([^/]+)/.exec(text)?.[1] ?? null;
}
