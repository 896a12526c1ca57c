import { execa } from 'execa';
import { network } from '../base/network.ts';

/** Chains of kube-router and of the pod network's plugins. */
const ourChains = /^(KUBE-ROUTER-|KUBE-POD-FW-|KUBE-NWPLCY-|CNI-)/;
const ourSets = /^(inet6:)?(KUBE-SRC-|KUBE-DST-|kube-router-)/;
/** Rules that kube-router and the plugins put straight into built-in chains. */
const ourRules = new RegExp(
  `KUBE-ROUTER-|KUBE-POD-FW-|KUBE-NWPLCY-|kube-router|network policies|-j CNI-|name: \\\\?"${network.name}\\\\?"`,
);
const proxyTables = ['ip kube-proxy', 'ip6 kube-proxy'] as const;

/** Netfilter objects by name, so that two moments can be compared. */
export interface NetfilterState {
  /** `family name`, as in nft. */
  readonly nftTables: readonly string[];
  readonly ipsets: readonly string[];
  /** `table/chain` of iptables, user-defined and built-in. */
  readonly chains: readonly string[];
}

/** `table/chain` for every chain in the output of iptables-save. */
export function chainsIn(save: string): string[] {
  let table = '';
  return save.split('\n').flatMap((line) => {
    if (line.startsWith('*')) table = line.slice(1).trim();
    return line.startsWith(':') ? [`${table}/${line.slice(1).split(' ', 1)[0] ?? ''}`] : [];
  });
}

/**
 * Returns input for `iptables-restore --noflush` that removes our chains and rules from a dump of iptables-save, and
 * nothing else; empty without any. Chains in `keep` existed before and stay.
 */
export function removalScript(save: string, keep: ReadonlySet<string>): string {
  const tables = save.split(/^\*/m).slice(1);
  const scripts = tables.flatMap((text) => {
    const lines = text.split('\n');
    const table = lines[0]?.trim() ?? '';
    const isOurs = (chain: string): boolean => ourChains.test(chain) && !keep.has(`${table}/${chain}`);
    const chains = lines.filter((line) => line.startsWith(':')).map((line) => line.slice(1).split(' ', 1)[0] ?? '');
    const mine = chains.filter(isOurs);
    const rules = lines.filter((line) => line.startsWith('-A ') && !isOurs(line.split(' ')[1] ?? '') && ourRules.test(line));
    if (mine.length === 0 && rules.length === 0) return [];
    const commands = [...rules.map((rule) => rule.replace('-A', '-D')), ...mine.map((c) => `-F ${c}`), ...mine.map((c) => `-X ${c}`)];
    return [`*${table}`, ...commands, 'COMMIT'];
  });
  return scripts.length === 0 ? '' : `${scripts.join('\n')}\n`;
}

async function output(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execa(command, args, { reject: false });
  return stdout ?? '';
}

const saves = ['iptables', 'ip6tables'] as const;

/** Returns the current state. */
export async function netfilterState(): Promise<NetfilterState> {
  const [tables, sets, ...dumps] = await Promise.all([
    output('nft', ['list', 'tables']),
    output('ipset', ['list', '-n']),
    ...saves.map((name) => output(`${name}-save`, [])),
  ]);
  return {
    nftTables: tables.split('\n').flatMap((line) => (line.startsWith('table ') ? [line.slice('table '.length)] : [])),
    ipsets: sets.split('\n').filter(Boolean),
    chains: dumps.flatMap(chainsIn),
  };
}

/** Reports whether a table is empty, as the iptables front end leaves it: base chains that accept everything, and no rule. */
export function isEmptyTable(listing: string): boolean {
  const lines = listing.split('\n').map((line) => line.trim());
  return lines.every((line) => /^($|#|}|table |chain [A-Z]+ {$|type \w+ hook .* policy accept;$)/.test(line));
}

/**
 * Removes our tables, chains, rules and sets. Everything in `before` stays, and so does everything without our names;
 * new empty tables are removed too.
 */
export async function cleanNetfilter(before: NetfilterState): Promise<void> {
  for (const name of saves) {
    const script = removalScript(await output(`${name}-save`, []), new Set(before.chains));
    if (script !== '') await execa(`${name}-restore`, ['--noflush', '--wait', '5'], { input: script });
  }
  const now = await netfilterState();
  for (const set of now.ipsets.filter((name) => ourSets.test(name) && !before.ipsets.includes(name))) {
    await execa('ipset', ['destroy', set], { reject: false });
  }
  for (const table of now.nftTables.filter((name) => !before.nftTables.includes(name))) {
    const words = table.split(' ');
    const ours = (proxyTables as readonly string[]).includes(table);
    if (ours || isEmptyTable(await output('nft', ['list', 'table', ...words])))
      await execa('nft', ['delete', 'table', ...words], { reject: false });
  }
}

/** Our names that are still there, one line each. */
export async function netfilterLeftovers(before: NetfilterState): Promise<string[]> {
  const now = await netfilterState();
  const isNew = (list: readonly string[]) => (name: string) => !list.includes(name);
  return [
    ...now.nftTables.filter((name) => (proxyTables as readonly string[]).includes(name)).map((name) => `nft table ${name}`),
    ...now.chains
      .filter((name) => ourChains.test(name.split('/')[1] ?? '') && isNew(before.chains)(name))
      .map((name) => `iptables chain ${name}`),
    ...now.ipsets.filter((name) => ourSets.test(name) && isNew(before.ipsets)(name)).map((name) => `ipset ${name}`),
  ];
}
