import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, type BuildOptions, type Plugin } from 'esbuild';

const library = '@kubernetes/client-node';

/** Leaves of the Kubernetes library only what reads a kubeconfig: as a whole, its clients of all APIs, it is 3 MB that nobody calls. */
const kubeconfigOnly: Plugin = {
  name: 'kubeconfig-only',
  setup(building) {
    const folder = join(createRequire(import.meta.url).resolve(library), '..');
    building.onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({ path: library, namespace: 'kubeconfig', sideEffects: false }));
    building.onLoad({ filter: /.*/, namespace: 'kubeconfig' }, () => ({
      contents: `export { KubeConfig } from ${JSON.stringify(join(folder, 'config.js'))};`,
      resolveDir: folder,
    }));
  },
};

async function bundled(entry: string, options: Pick<BuildOptions, 'banner' | 'define' | 'format'>): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    target: 'node24',
    write: false,
    minify: true,
    plugins: [kubeconfigOnly],
    ...options,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return file.text;
}

/** Bundles a TypeScript program for Node into one ES module and returns its text. What it imports dynamically is run when it is asked for. */
export function bundleProgram(entry: string): Promise<string> {
  return bundled(entry, {
    format: 'esm',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire('file:///');" },
  });
}

/**
 * The same as a CommonJS module, which starts sooner: an ES module loads every part of Node that any of its modules names before its
 * first line runs (TLS, HTTP and undici for `--help`), this one loads a part when the module that names it runs. No top-level await.
 */
export function bundleCommand(entry: string): Promise<string> {
  return bundled(entry, {
    format: 'cjs',
    define: { 'import.meta.url': 'thisFileUrl', 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
    banner: { js: "const thisFileUrl=require('node:url').pathToFileURL(__filename).href;" },
  });
}
