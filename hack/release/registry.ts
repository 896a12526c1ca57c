import { execa } from 'execa';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { buildFamilies, goFacts } from '../cluster/build/binaries.ts';
import { repository as root } from '../images/parts.ts';
import type { Artifact } from './documents.ts';

/** Programs that speak to registries. Credentials are those of `docker login`, which both read. */
export interface RegistryPrograms {
  readonly crane: string;
  readonly helm: string;
}

/** Builds crane and helm from their Go modules, or finds them in the cache. */
export async function registryPrograms(signal?: AbortSignal): Promise<RegistryPrograms> {
  const go = await goFacts();
  if (go === undefined) throw new Error('crane and helm are built with Go, and there is no go command here; install Go');
  const built = await buildFamilies(['helm', 'crane'], go, (line) => console.error(line), signal);
  return { crane: built.path('crane'), helm: built.path('helm') };
}

interface RegistryOptions {
  readonly programs: RegistryPrograms;
  /** `host[:port][/path]` below which everything is pushed. */
  readonly address: string;
  /** Speaks HTTP, for a registry on this machine. */
  readonly plainHttp?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** An image to push: a docker-archive, and its architecture. */
export interface Built {
  readonly name: string;
  readonly archive: string;
}

/** One OCI registry, as a release uses it. */
export class Registry {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get address(): string {
    return this.#options.address;
  }

  repositoryOf(name: string): string {
    return `${this.#options.address}/${name}`;
  }

  /** Pushes an image of one architecture. */
  async pushImage({ name, archive }: Built, tag: string): Promise<Artifact> {
    const pushed = await this.#crane('push', archive, `${this.repositoryOf(name)}:${tag}`);
    return { name, repository: this.repositoryOf(name), digest: digestIn(pushed) };
  }

  /** The digest of a tag; undefined when there is none. */
  async find(name: string, tag: string): Promise<string | undefined> {
    try {
      return digestIn(await this.#crane('digest', `${this.repositoryOf(name)}:${tag}`));
    } catch (error) {
      if (/MANIFEST_UNKNOWN|NAME_UNKNOWN|404/.test(String(error))) return undefined;
      throw error;
    }
  }

  /** All tags of an image that is there. */
  async tags(name: string): Promise<readonly string[]> {
    return (await this.#crane('ls', this.repositoryOf(name))).split('\n').map((tag) => tag.trim());
  }

  /** Puts images of several architectures under one tag. */
  async join(name: string, digests: readonly string[], tag: string): Promise<Artifact> {
    const repository = this.repositoryOf(name);
    const parts = digests.flatMap((digest) => ['--manifest', `${repository}@${digest}`]);
    const joined = await this.#crane('index', 'append', ...parts, '--tag', `${repository}:${tag}`);
    return { name, repository, digest: digestIn(joined) };
  }

  /** Writes the file system of an image as a tar archive. */
  async exportTo(image: string, file: string): Promise<void> {
    await this.#crane('export', image, file);
  }

  /** The manifest of an artifact, as the registry has it; crane compares it with the digest that is asked for. */
  async manifest(reference: string): Promise<unknown> {
    return JSON.parse(await this.#crane('manifest', reference));
  }

  /** Pushes the chart with these images as its defaults, under `charts/agentfleet`, and its definitions alone, under `charts/agentfleet-crds`. */
  async pushCharts(version: string, images: readonly Artifact[]): Promise<readonly [chart: Artifact, crds: Artifact]> {
    const folder = await mkdtemp(join(tmpdir(), 'release-chart-'));
    try {
      const chart = join(folder, 'agentfleet');
      const crds = join(chart, 'charts/agentfleet-crds');
      await cp(join(root, 'charts/agentfleet'), chart, { recursive: true });
      await rewrite(join(chart, 'values.yaml'), (values) => withImages(values, images));
      for (const one of [chart, crds]) await rewrite(join(one, 'Chart.yaml'), (about) => withVersion(about, version));
      return [await this.#pushChart('chart', chart, version), await this.#pushChart('chart-crds', crds, version)];
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  /** Pushes the chart of a folder, whose name is the chart's. */
  async #pushChart(name: string, chart: string, version: string): Promise<Artifact> {
    const { programs, address, plainHttp = false, signal } = this.#options;
    const helm = (...args: readonly string[]) => execa(programs.helm, args, signal === undefined ? {} : { cancelSignal: signal });
    const [at, under] = [`charts/${basename(chart)}`, dirname(chart)];
    await helm('package', chart, '--destination', under);
    await helm('push', `${chart}-${version}.tgz`, `oci://${address}/charts`, ...(plainHttp ? ['--plain-http'] : []));
    const digest = await this.find(at, version);
    if (digest === undefined) throw new Error(`helm pushed the chart, and ${address} has no ${at}:${version}`);
    return { name, repository: this.repositoryOf(at), digest };
  }

  async #crane(...args: readonly string[]): Promise<string> {
    const { programs, plainHttp = false, signal } = this.#options;
    const all = [...args, ...(plainHttp ? ['--insecure'] : [])];
    const { stdout } = await execa(programs.crane, all, signal === undefined ? {} : { cancelSignal: signal });
    return stdout;
  }
}

function digestIn(text: string): string {
  const digest = /sha256:[0-9a-f]{64}/.exec(text)?.[0];
  if (digest === undefined) throw new Error(`the registry gave no digest: ${text.slice(0, 200)}`);
  return digest;
}

/** Names of images in the values of the chart, where they differ from those of the catalogue. */
const valueNames: Readonly<Record<string, string>> = { 'inference-llama': 'inferenceLlama' };

/** The values of the chart with these images in place of empty defaults. Throws for an image that the chart has not. Pure. */
export function withImages(values: string, images: readonly Artifact[]): string {
  return images.reduce((text, { name, repository, digest }) => {
    const line = `  ${valueNames[name] ?? name}: ''\n`;
    if (!text.includes(line)) throw new Error(`the values of the chart have no empty image ${name}`);
    return text.replace(line, `  ${valueNames[name] ?? name}: ${repository}@${digest}\n`);
  }, values);
}

/** A Chart.yaml with this version as its own, of its program, and of charts in it. Pure. */
export function withVersion(about: string, version: string): string {
  return about
    .replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`)
    .replaceAll(/(- \{ name: [^}]*, version: )[^,}]+/g, `$1${version}`);
}

async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  await writeFile(file, change(await readFile(file, 'utf8')));
}
