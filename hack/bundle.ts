import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

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

/** Bundles a TypeScript program for Node into one ES module and returns its text. What it imports dynamically is run when it is asked for. */
export async function bundleProgram(entry: string): Promise<string> {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    write: false,
    minify: true,
    plugins: [kubeconfigOnly],
    banner: { js: "import{createRequire}from'node:module';const require=createRequire('file:///');" },
  });
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return file.text;
}
