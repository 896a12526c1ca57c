import { isIP } from 'node:net';
import { isRecord } from '@agentfleet/kube';
import type { EgressBrief } from '@agentfleet/protocol/pool';

const hostPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON; write it like {"registries":[{"host":"packages.example.com","port":443}],"environment":{}}');
  }
}

function parseRegistry(entry: unknown, at: number): EgressBrief['registries'][number] {
  const { host, port, ...more } = isRecord(entry) ? entry : {};
  const name = `registries[${at}]`;
  if (typeof host !== 'string' || !hostPattern.test(host)) throw new Error(`${name}.host is not the name of a host; use a-z, 0-9, - and .`);
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`${name}.port is not a port; write a number from 1 to 65535`);
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) throw new Error(`${name}.${unknown} is not known; there are host and port`);
  return { host, port };
}

function parseVariable([name, value]: readonly [string, unknown]): readonly [string, string] {
  if (!variablePattern.test(name)) throw new Error(`environment has "${name}", which is no name of a variable; use A-Z, a-z, 0-9 and _`);
  if (typeof value !== 'string') throw new Error(`environment.${name} is not a text; put it in quotes`);
  return [name, value];
}

function parseRange(entry: unknown, at: number): string {
  const [address = '', bits = '', ...more] = typeof entry === 'string' ? entry.split('/') : [];
  const most = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (most === 0 || address.includes('%') || more.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) < 1 || Number(bits) > most)
    throw new Error(`clusterRanges[${at}] is not a range of addresses; write it like 10.0.0.0/8 or fd00::/8`);
  return `${address}/${bits}`;
}

/**
 * Parses the targets of `network: Registries` and the cluster's addresses, as the chart writes them: JSON with `registries`, `environment`
 * and `clusterRanges`. Names are sorted, so another order is no other content. @throws Error that names the member and its cure
 */
export function parseEgress(text: string): EgressBrief {
  const value = parseJson(text);
  if (!isRecord(value)) throw new Error('it is not an object; it has the members registries, environment and clusterRanges');
  const { registries = [], environment = {}, clusterRanges = [], ...more } = value;
  if (!Array.isArray(registries)) throw new Error('registries is not a list');
  if (!isRecord(environment)) throw new Error('environment is not an object of texts');
  if (!Array.isArray(clusterRanges)) throw new Error('clusterRanges is not a list');
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) throw new Error(`${unknown} is not known; there are registries, environment and clusterRanges`);
  const variables = Object.entries(environment).map(parseVariable);
  variables.sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    registries: registries.map(parseRegistry),
    environment: Object.fromEntries(variables),
    // Absent rather than empty: workers of an older version know no such member.
    ...(clusterRanges.length === 0 ? {} : { clusterRanges: clusterRanges.map(parseRange) }),
  };
}

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

const known = new Set(['to', 'ports']);

/** Egress rules of NetworkPolicies as the chart writes them, JSON. @throws Error that names the rule and its cure */
export function parseWorkerEgress(text: string): readonly object[] {
  const example = '[{"to":[{"ipBlock":{"cidr":"10.1.0.0/24"}}],"ports":[{"port":443}]}]';
  let rules: unknown;
  try {
    rules = JSON.parse(text);
  } catch {
    throw new Error(`it is not JSON; write it like ${example}`);
  }
  if (!Array.isArray(rules)) throw new Error(`it is not a list of rules; write it like ${example}`);
  return rules.map((rule: unknown, at) => {
    const members = typeof rule === 'object' && rule !== null && !Array.isArray(rule) ? Object.keys(rule) : [];
    if (members.length === 0) throw new Error(`rule ${at} opens everything or is no rule; write it like ${example}`);
    const unknown = members.find((member) => !known.has(member));
    if (unknown !== undefined) throw new Error(`rule ${at} has ${unknown}, which is not known; there are to and ports`);
    return rule as object;
  });
}
