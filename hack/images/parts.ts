import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { cached, hashInputs } from '../cache/index.ts';
import { licenceTexts } from './licences.ts';
import { noPreparation, type Prepare } from './prerequisites.ts';
import { sha256Of, type HashedFile } from './rootfs.ts';
import { run } from './run.ts';

/** The repository's root. */
export const repository = join(import.meta.dirname, '..', '..');

/** Architectures by the name that container images use (GOARCH). */
type ImageArch = 'amd64' | 'arm64';

/** The architecture of this machine. Throws on one that has no pinned Node. */
export function hostArch(arch: string = process.arch): ImageArch {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64') return 'arm64';
  throw new Error(`No images for the architecture ${arch}: x64 and arm64 are known.`);
}

/** Returns the licence of Node and of its linked libraries. */
export async function nodeLicence(): Promise<HashedFile> {
  const text = await readFile(join(repository, 'node_modules', `node-linux-${process.arch}`, 'LICENSE'), 'utf8');
  return storeContent('node.LICENSE', text);
}

/** The pinned Node binary without its symbol tables, which are a seventh of it. */
export async function strippedNode(prepare: Prepare = noPreparation, signal?: AbortSignal): Promise<HashedFile> {
  const folder = join(repository, 'node_modules', `node-linux-${process.arch}`);
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  const { dir } = await cached('image-node', `${version}-${process.arch}`, async (target) => {
    await prepare();
    await run('strip', ['--strip-all', '-o', join(target, 'node'), join(folder, 'bin', 'node')], { signal });
    await writeFile(join(target, 'sha256'), await sha256Of(join(target, 'node')));
  });
  return { file: join(dir, 'node'), sha256: await readFile(join(dir, 'sha256'), 'utf8') };
}

/** The files that `go build` may read below `folder`, sorted: all but tests. */
export async function goInputs(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const wanted = files.filter((file) => !file.endsWith('_test.go') && !/(^|\/)testdata\//.test(file) && file !== 'runner');
  return wanted.sort();
}

/** The runner as a static binary for `arch`, built with the machine's Go. */
export async function runnerBinary(arch: ImageArch, signal?: AbortSignal): Promise<HashedFile> {
  const folder = join(repository, 'sandbox-image', 'runner');
  const inputs = await goInputs(folder);
  const go = await run('go', ['env', 'GOVERSION'], { cwd: folder, signal });
  const key = await hashInputs({ text: [arch, go, ...inputs], paths: inputs.map((file) => join(folder, file)) });
  const { dir } = await cached('image-runner', `${arch}-${key}`, async (target) => {
    const out = join(target, 'runner');
    const env = { CGO_ENABLED: '0', GOOS: 'linux', GOARCH: arch, GOFLAGS: '-mod=readonly' };
    await run('go', ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', out, '.'], { cwd: folder, env, signal });
    await writeFile(join(target, 'sha256'), await sha256Of(out));
  });
  return { file: join(dir, 'runner'), sha256: await readFile(join(dir, 'sha256'), 'utf8') };
}

/** Reads kubeconfigs, which no pod has: three quarters of the operator's own code in memory. */
export const kubeconfigLibrary = '@kubernetes/client-node';

/** The operator as its image starts it: in a pod, by its ServiceAccount. */
export const operatorBundle = (): Promise<Bundle> => bundle('operator', join(repository, 'operator/src/main.ts'), [kubeconfigLibrary]);

/** CommonJS packages in an ESM bundle call `require` for Node's own modules. */
const requireBanner = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";

/** A bundle, and the licences of the packages in it. */
export interface Bundle {
  readonly code: HashedFile;
  readonly licences: HashedFile;
}

/**
 * Bundles a TypeScript entry with everything it imports into one minified ES module.
 * The entry of the cache is named by the bundle's content, so the same bytes are one file. `leaveOut` names packages that the
 * program loads by need and that its image has not.
 */
export async function bundle(name: string, entry: string, leaveOut: readonly string[] = []): Promise<Bundle> {
  if (!existsSync(entry)) throw new Error(`No ${relative(repository, entry)}: there is nothing to bundle for ${name}.`);
  const result = await build({
    entryPoints: [entry],
    absWorkingDir: repository,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    legalComments: 'none',
    banner: { js: requireBanner },
    // CommonJS packages ask for it; a module has none.
    define: { __dirname: 'import.meta.dirname' },
    external: [...leaveOut],
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const contents = result.outputFiles[0]?.contents;
  if (contents === undefined) throw new Error(`esbuild made nothing of ${relative(repository, entry)}`);
  const licences = await licenceTexts(repository, Object.keys(result.metafile.inputs));
  return { code: await storeContent(`${name}.js`, contents), licences: await storeContent(`${name}.LICENSES`, licences) };
}

/** Keeps bytes that were made in memory as a file of the cache. */
export async function storeContent(name: string, content: Uint8Array | string): Promise<HashedFile> {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const { dir } = await cached('image-content', `${name}-${sha256.slice(0, 16)}`, async (target) => {
    await writeFile(join(target, name), content);
    await chmod(join(target, name), 0o644);
  });
  return { file: join(dir, name), sha256 };
}

/** A file that is committed. Throws an error that names it when it is not there. */
export async function repositoryFile(path: string): Promise<HashedFile> {
  const file = join(repository, path);
  if (!existsSync(file)) throw new Error(`No ${path}: it belongs into the image; check it out, or make it with its script.`);
  return { file, sha256: await sha256Of(file) };
}

/** A file of an installed npm package, by the name that code would import it by. */
export async function moduleFile(specifier: string): Promise<HashedFile> {
  const file = createRequire(import.meta.url).resolve(specifier);
  return { file, sha256: await sha256Of(file) };
}
