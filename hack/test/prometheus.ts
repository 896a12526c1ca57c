import { spawn } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { execa } from 'execa';
import { freePort } from '../cluster/base/ports.ts';
import { poll } from '../bench/operator/subject.ts';
import { cached } from '../cache/index.ts';

/** Programs of Debian's package prometheus, unpacked and not installed: an installed one would be started by its scripts. */
export async function prometheusPrograms(): Promise<{ readonly prometheus: string; readonly promtool: string }> {
  const { dir } = await cached('prometheus', `debian-${process.arch}`, async (target) => {
    const download = (): Promise<unknown> => execa('apt-get', ['download', '-q', 'prometheus'], { cwd: target });
    await download().catch(async () => {
      await execa('apt-get', ['update', '-q']);
      await download();
    });
    const file = (await readdir(target)).find((name) => name.endsWith('.deb'));
    if (file === undefined) throw new Error('apt-get downloaded no package prometheus');
    await execa('dpkg-deb', ['-x', file, '.'], { cwd: target });
  });
  return { prometheus: join(dir, 'usr/bin/prometheus'), promtool: join(dir, 'usr/bin/promtool') };
}

/** An alert that Prometheus keeps. */
export interface Alert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface PrometheusOptions {
  /** Empty; for configuration and data. */
  readonly folder: string;
  /** As in the configuration file. */
  readonly scrapeConfigs: readonly object[];
  readonly groups: readonly object[];
}

/** A running Prometheus. */
export interface Prometheus {
  /** Values of an instant query, with their labels. */
  query(expression: string): Promise<readonly { readonly metric: Readonly<Record<string, string>>; readonly value: string }[]>;
  alerts(): Promise<readonly Alert[]>;
  /** Labels of the exemplars of the last hour in what the expression selects, with those of their series. */
  exemplars(
    expression: string,
  ): Promise<readonly { readonly series: Readonly<Record<string, string>>; readonly labels: Readonly<Record<string, string>> }[]>;
  stop(): Promise<void>;
}

/** On a busy machine, ms. */
const readyMs = 120_000;

/** Writes rules and configuration, and returns the path of the latter. Rejects with promtool's words. */
async function configure({ folder, scrapeConfigs, groups }: PrometheusOptions, promtool: string): Promise<string> {
  const [config, rules] = [join(folder, 'prometheus.yml'), join(folder, 'rules.yml')];
  await writeFile(rules, dump({ groups }, { noRefs: true }));
  const global = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' };
  await writeFile(config, dump({ global, rule_files: [rules], scrape_configs: scrapeConfigs }, { noRefs: true }));
  await execa(promtool, ['check', 'config', config]);
  return config;
}

async function ask<T>(address: string, path: string): Promise<T> {
  const response = await fetch(`http://${address}/api/v1/${path}`);
  if (!response.ok) throw new Error(`Prometheus: ${path}: ${await response.text()}`);
  return ((await response.json()) as { readonly data: T }).data;
}

/** Starts Prometheus on a free port; it looks once a second. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { prometheus, promtool } = await prometheusPrograms();
  const config = await configure(options, promtool);
  const address = `127.0.0.1:${await freePort()}`;
  const storage = `--storage.tsdb.path=${join(options.folder, 'data')}`;
  const args = [`--config.file=${config}`, storage, `--web.listen-address=${address}`, '--enable-feature=exemplar-storage'];
  const child = spawn(prometheus, args, { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}; its configuration: ${config}`);
    return fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await poll('Prometheus is ready', isReady, readyMs, 200);
  return {
    query: async (expression) => {
      const { result } = await ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        address,
        `query?query=${encodeURIComponent(expression)}`,
      );
      return result.map(({ metric, value }) => ({ metric, value: value[1] }));
    },
    exemplars: async (expression) => {
      const now = Date.now() / 1000;
      const path = `query_exemplars?query=${encodeURIComponent(expression)}&start=${now - 3600}&end=${now + 60}`;
      const found = await ask<{ seriesLabels: Record<string, string>; exemplars: { labels: Record<string, string> }[] }[]>(address, path);
      return found.flatMap(({ seriesLabels: series, exemplars }) => exemplars.map(({ labels }) => ({ series, labels })));
    },
    alerts: async () => (await ask<{ alerts: Alert[] }>(address, 'alerts')).alerts,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
