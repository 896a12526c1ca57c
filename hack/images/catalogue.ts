import { basename, join } from 'node:path';
import { bundle, hostArch, moduleFile, nodeLicence, repository, runnerBinary, storeContent, strippedNode, type Bundle } from './parts.ts';
import { noPreparation, type Prepare } from './prerequisites.ts';
import type { RecipeName } from './recipes.ts';
import type { HashedFile } from './rootfs.ts';

/** One file of a build context: where the Dockerfile finds it, what it is, and its mode. */
export interface ContextFile extends HashedFile {
  readonly path: string;
  readonly mode: number;
}

/** Makes each part once per build, also when two images at once want it. */
export interface Parts {
  node(): Promise<HashedFile>;
  nodeLicence(): Promise<HashedFile>;
  runner(): Promise<HashedFile>;
  keeper(): Promise<Bundle>;
  inference(): Promise<Bundle>;
  moduleMarker(): Promise<HashedFile>;
}

/** An image: a Dockerfile on a root file system, and the files that it copies. */
export interface ImageDefinition {
  readonly name: string;
  readonly dockerfile: string;
  readonly rootfs: RecipeName;
  context(parts: Parts): Promise<readonly ContextFile[]>;
}

/** What parts are made with; `keeperEntry` is for tests. */
export interface PartsOptions {
  readonly prepare?: Prepare;
  readonly signal?: AbortSignal | undefined;
  readonly keeperEntry?: string;
}

/** Parts from this machine. */
export function machineParts(options: PartsOptions = {}): Parts {
  const { prepare = noPreparation, signal, keeperEntry = join(repository, 'sandbox-image/keeper/src/main.ts') } = options;
  return {
    node: once(() => strippedNode(prepare, signal)),
    nodeLicence: once(nodeLicence),
    runner: once(() => runnerBinary(hostArch(), signal)),
    keeper: once(() => bundle('keeper', keeperEntry)),
    inference: once(() => bundle('inference', join(repository, 'inference-image/src/main.ts'))),
    // Node reads a `.js` file as a module only beside such a package.json.
    moduleMarker: once(() => storeContent('package.json', '{"type":"module"}\n')),
  };
}

/** `make`, called at most once. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const noContext = (): Promise<readonly ContextFile[]> => Promise.resolve([]);

const nodeContext = async (parts: Parts): Promise<readonly ContextFile[]> => [
  { ...(await parts.node()), path: `dist/${hostArch()}/node`, mode: 0o755 },
  { ...(await parts.nodeLicence()), path: 'dist/node.LICENSE', mode: 0o644 },
];

const sandboxContext = async (parts: Parts): Promise<readonly ContextFile[]> => {
  const [node, runner, keeper, marker] = await Promise.all([nodeContext(parts), parts.runner(), parts.keeper(), parts.moduleMarker()]);
  return [
    ...node,
    { ...runner, path: `dist/${hostArch()}/runner`, mode: 0o755 },
    { ...keeper.code, path: 'dist/keeper.js', mode: 0o644 },
    { ...keeper.licences, path: 'dist/keeper.LICENSES', mode: 0o644 },
    { ...marker, path: 'dist/package.json', mode: 0o644 },
  ];
};

const inferenceContext = async (parts: Parts): Promise<readonly ContextFile[]> => {
  const [node, server, marker] = await Promise.all([nodeContext(parts), parts.inference(), parts.moduleMarker()]);
  const grammars = await Promise.all(grammarModules.map(moduleFile));
  return [
    ...node,
    { ...server.code, path: 'dist/inference.js', mode: 0o644 },
    { ...server.licences, path: 'dist/inference.LICENSES', mode: 0o644 },
    { ...marker, path: 'dist/package.json', mode: 0o644 },
    ...grammars.map((file) => ({ ...file, path: `dist/${basename(file.file)}`, mode: 0o644 })),
  ];
};

/** The parser's runtime and its grammars, which a bundle cannot hold. */
const grammarModules = ['web-tree-sitter/web-tree-sitter.wasm', '@vscode/tree-sitter-wasm/wasm/tree-sitter-python.wasm'] as const;

/** All images, in the order in which they are listed. */
export const catalogue: readonly ImageDefinition[] = [
  { name: 'base', dockerfile: 'hack/images/base/Dockerfile', rootfs: 'base', context: noContext },
  { name: 'sandbox', dockerfile: 'sandbox-image/Dockerfile', rootfs: 'base', context: sandboxContext },
  { name: 'inference', dockerfile: 'inference-image/Dockerfile', rootfs: 'base', context: inferenceContext },
  { name: 'tools', dockerfile: 'sandbox-image/tools/Dockerfile', rootfs: 'tools', context: nodeContext },
  { name: 'tools-busybox', dockerfile: 'hack/images/busybox/Dockerfile', rootfs: 'busybox', context: noContext },
];

/** The images of these names, or all. Throws on a name that is not in the catalogue. */
export function selectImages(names: readonly string[] = []): readonly ImageDefinition[] {
  const unknown = names.filter((name) => !catalogue.some((image) => image.name === name));
  if (unknown.length > 0) {
    throw new Error(`No image ${unknown.join(', ')}; there are ${catalogue.map((image) => image.name).join(', ')}.`);
  }
  return names.length === 0 ? catalogue : catalogue.filter((image) => names.includes(image.name));
}
