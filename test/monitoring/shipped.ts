// test, monitoring: alert rules and dashboards of the chart, parsed. May import any package.
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';

const folder = fileURLToPath(new URL('../../charts/agentfleet/files/monitoring/', import.meta.url));

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

export interface Panel {
  readonly title: string;
  readonly type: string;
  readonly id: number;
  readonly gridPos: Readonly<Record<'h' | 'w' | 'x' | 'y', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly datasource: object }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly query: unknown }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string; readonly titleFormat: string }[] };
}

async function files(part: string): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const names = (await readdir(folder + part)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(`${folder}${part}/${name}`, 'utf8') })));
}

/** Groups of rules by file, as the chart ships them. */
export async function ruleGroups(): Promise<readonly Group[]> {
  return (await files('rules')).flatMap(({ text }) => load(text) as Group[]);
}

/** Dashboards as the chart ships them. */
export async function dashboards(): Promise<readonly Dashboard[]> {
  return (await files('dashboards')).map(({ text }) => JSON.parse(text) as Dashboard);
}
