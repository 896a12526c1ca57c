// Flux's kustomize-controller, built from its module, beside the operator of a TaskBed. What source-controller does is played: it would
// write where an archive of the repository is.
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { findCondition, type Condition, type KubeObject } from '@agentfleet/kube';
import { load, loadAll } from 'js-yaml';
import { buildFamilies, goFacts, moduleDir } from '../../hack/cluster/build/binaries.ts';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { createNamespace, until, type Server, type Stored } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

const examples = fileURLToPath(new URL('../../examples/gitops/', import.meta.url));
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const merge = 'application/merge-patch+json';
/** The task of the documentation. */
export const documented = 'ages-2030-01-15';
const named = ['pools', 'tasks'] as const;
export type Name = (typeof named)[number];

/** Kinds of source-controller, which the controller watches all; of their content it reads `status.artifact` alone. */
const sources = ['GitRepository', 'OCIRepository', 'Bucket'].map((kind) => {
  const singular = kind.toLowerCase();
  const plural = singular.replace(/y$/, 'ie').concat('s');
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.source.toolkit.fluxcd.io` },
    spec: {
      group: 'source.toolkit.fluxcd.io',
      scope: 'Namespaced',
      names: { kind, singular, plural, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
});

/** Serves Flux's definitions; the function returned takes back those that were not there. */
async function serveFlux(server: Server): Promise<() => Promise<void>> {
  const folder = `${await moduleDir('kustomize-controller')}/config/crd/bases`;
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  const own = await Promise.all(files.map(async (name) => load(await readFile(`${folder}/${name}`, 'utf8')) as KubeObject));
  const made: string[] = [];
  for (const definition of [...own, ...sources]) {
    const { name } = definition.metadata;
    const { status, body } = await server.ask('POST', definitions, { body: definition });
    if (status === 201) made.push(name);
    else if (status !== 409) throw new Error(`${name}: ${body.message}`);
    const [plural = '', ...group] = name.split('.');
    await until(`${name} is served`, async () => (await server.ask('GET', `/apis/${group.join('.')}/v1/${plural}`)).status === 200);
  }
  return async () => {
    for (const name of made) await server.ask('DELETE', `${definitions}/${name}`);
  };
}

/** Runs the controller for one namespace; the function returned ends it. */
async function startController(namespace: string): Promise<() => Promise<void>> {
  const go = await goFacts();
  if (go === undefined) throw new Error('kustomize-controller is built with Go, and there is no go command here');
  const program = (await buildFamilies(['kustomize-controller'], go, (line) => console.log(line))).path('kustomize-controller');
  const folder = await mkdtemp(join(tmpdir(), 'kustomize-controller-'));
  const addresses = ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0'];
  // The gate that docs/gitops.md recommends.
  const args = ['--watch-all-namespaces=false', '--requeue-dependency=2s', '--feature-gates=CancelHealthCheckOnNewRevision=true'];
  const running = execa(program, [...addresses, ...args, '--no-remote-bases'], {
    env: { KUBECONFIG: await kubeconfigPath(), RUNTIME_NAMESPACE: namespace, TMPDIR: folder },
    reject: false,
    stderr: { file: `${folder}/log` },
    stdout: 'ignore',
  });
  return async () => {
    running.kill();
    await running;
    await rm(folder, { recursive: true });
  };
}

/** A namespace with the documented source and Kustomizations, and the repository that they read. */
export class FluxBed {
  readonly bed: TaskBed;
  readonly #namespace: string;
  readonly #files: string;
  readonly #server: HttpServer;
  #task = { metadata: {}, spec: {} };
  #archive = Buffer.alloc(0);
  #end: () => Promise<void> = () => Promise.resolve();

  private constructor(bed: TaskBed, namespace: string, files: string) {
    this.bed = bed;
    this.#namespace = namespace;
    this.#files = files;
    this.#server = createServer((_, response) => response.end(this.#archive));
  }

  static async start(): Promise<FluxBed> {
    const bed = await TaskBed.start();
    const withdraw = await serveFlux(bed.server);
    const flux = new FluxBed(bed, await createNamespace(bed.server), await mkdtemp(join(tmpdir(), 'fleet-')));
    await flux.#fill();
    await new Promise<void>((resolve) => void flux.#server.listen(0, '127.0.0.1', resolve));
    const stop = await startController(flux.#namespace);
    flux.#end = async () => {
      await stop();
      await withdraw();
    };
    for (const manifest of loadAll(await readFile(`${examples}flux/fleet.yaml`, 'utf8')) as Stored[]) {
      const path = manifest.kind === 'Kustomization' ? flux.#kustomization('') : flux.#source('');
      const body = { ...manifest, metadata: { ...manifest.metadata, namespace: flux.#namespace } };
      const answer = await bed.server.ask('POST', path, { body });
      if (answer.status !== 201) throw new Error(`${manifest.metadata.name}: ${answer.body.message}`);
    }
    return flux;
  }

  async close(): Promise<void> {
    const { server } = this.bed;
    // Their finalizers are the controller's, which a failed test leaves waiting for health.
    for (const name of named)
      await server.ask('PATCH', this.#kustomization(`/${name}`), {
        body: { spec: { suspend: true }, metadata: { finalizers: [] } },
        type: merge,
      });
    for (const name of named) await server.ask('DELETE', this.#kustomization(`/${name}`));
    await this.bed.close();
    await server.ask('DELETE', `/api/v1/namespaces/${this.#namespace}`);
    await this.#end();
    await new Promise((resolve) => void this.#server.close(resolve));
    await rm(this.#files, { recursive: true });
  }

  #kustomization(name: string): string {
    return `/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/${this.#namespace}/kustomizations${name}`;
  }

  #source(name: string): string {
    return `/apis/source.toolkit.fluxcd.io/v1/namespaces/${this.#namespace}/gitrepositories${name}`;
  }

  /** The examples, with the names where the bed has its pool and its worker. */
  async #fill(): Promise<void> {
    const { namespace } = this.bed;
    const words = Object.entries({ 'agentfleet-pools': namespace, demo: namespace, search: 'coding' });
    await cp(`${examples}fleet`, `${this.#files}/fleet`, { recursive: true });
    for (const entry of await readdir(this.#files, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const text = await readFile(path, 'utf8');
      // Not those that are followed by a colon: they are keys.
      await writeFile(
        path,
        words.reduce((rest, [from, to]) => rest.replaceAll(new RegExp(`\\b${from}\\b(?!:)`, 'g'), to), text),
      );
    }
    this.#task = load(await readFile(`${this.#files}/fleet/tasks/${documented}.yaml`, 'utf8')) as { metadata: object; spec: object };
  }

  /**
   * Commits these tasks and no others, each the documented one with another name and this in its spec, and plays source-controller.
   * Returns the revision.
   */
  async push(tasks: Readonly<Record<string, object>>): Promise<string> {
    const folder = join(this.#files, 'fleet', 'tasks');
    for (const [name, spec] of Object.entries(tasks)) {
      const task = this.#task;
      const manifest = { ...task, metadata: { ...task.metadata, name }, spec: { ...task.spec, ...spec } };
      await writeFile(`${folder}/${name}.yaml`, JSON.stringify(manifest));
    }
    const list = await readFile(`${folder}/kustomization.yaml`, 'utf8');
    const names = ['namespace', ...Object.keys(tasks)].map((name) => `${name}.yaml`).join(', ');
    await writeFile(`${folder}/kustomization.yaml`, list.replace(/^resources: .*$/m, `resources: [${names}]`));
    const { stdout } = await execa('tar', ['-cz', '-C', this.#files, 'fleet'], { encoding: 'buffer' });
    this.#archive = Buffer.from(stdout);
    const sha = createHash('sha256').update(this.#archive).digest('hex');
    const { port } = this.#server.address() as AddressInfo;
    const artifact = {
      url: `http://127.0.0.1:${port}/${sha}.tar.gz`,
      path: `${sha}.tar.gz`,
      revision: `main@sha1:${sha.slice(0, 40)}`,
      digest: `sha256:${sha}`,
      size: this.#archive.length,
      lastUpdateTime: '2030-01-15T00:00:00Z',
    };
    const answer = await this.bed.server.ask('PATCH', `${this.#source('/fleet')}/status`, { body: { status: { artifact } }, type: merge });
    if (answer.status !== 200) throw new Error(`status.artifact: ${answer.body.message}`);
    return artifact.revision;
  }

  async condition(name: Name, type: string): Promise<Condition | undefined> {
    const { body } = await this.bed.server.ask('GET', this.#kustomization(`/${name}`));
    return findCondition(body.status?.['conditions'] as Condition[] | undefined, type);
  }

  /** Waits until a condition has this status and words. */
  async says(name: Name, type: string, status: string, words: string): Promise<void> {
    let said: Condition | undefined;
    const found = async (): Promise<boolean> => {
      said = await this.condition(name, type);
      return said?.status === status && said.message.includes(words);
    };
    await until(`${name}: ${type} is ${status}, with "${words}"`, found).catch((error: unknown) => {
      throw new Error(`${name}: ${JSON.stringify(said)}`, { cause: error });
    });
  }

  waitsForHealth(revision: string): Promise<void> {
    return this.says('tasks', 'Reconciling', 'True', `Running health checks for revision ${revision}`);
  }

  isHealthy(name: Name, revision: string): Promise<void> {
    return this.says(name, 'Ready', 'True', `Applied revision: ${revision}`);
  }
}
