import { isIP } from 'node:net';

/** Most that a resolver asks: MAXNS of resolv.conf(5). */
const most = 3;

/** Addresses of the DNS servers in the text of a resolv.conf, sorted; those of the machine itself are left out. Pure. */
export function resolversOf(text: string): readonly string[] {
  const found = [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)].map(([, address = '']) => address);
  return [...new Set(found)]
    .filter((address) => isIP(address) !== 0 && !/^127\.|^::1$/.test(address))
    .slice(0, most)
    .sort();
}
