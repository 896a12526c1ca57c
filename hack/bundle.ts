// hack, top folder: bundles of programs by esbuild. May import any package.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build, type BuildOptions, type Plugin } from 'esbuild';

const library = '@kubernetes/client-node';

/** Keeps only the kubeconfig reader of the Kubernetes library: with its clients of all APIs it has 3 MB of unused code. */
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

type Chosen = Pick<BuildOptions, 'banner' | 'define' | 'entryPoints' | 'format' | 'plugins' | 'stdin' | 'supported'>;

async function bundled(options: Chosen): Promise<string> {
  const { outputFiles } = await build({
    bundle: true,
    platform: 'node',
    target: 'node24',
    write: false,
    minify: true,
    ...options,
    plugins: [kubeconfigOnly, ...(options.plugins ?? [])],
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild made nothing');
  return file.text;
}

/** Bundles a TypeScript program for Node into one ES module and returns its text. Dynamic imports are run on demand. */
export function bundleProgram(entry: string): Promise<string> {
  return bundled({
    entryPoints: [entry],
    format: 'esm',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire('file:///');" },
  });
}

const commonJs = {
  format: 'cjs',
  define: { 'import.meta.url': 'thisFileUrl', 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
} as const satisfies Chosen;
const thisFileUrl = "const thisFileUrl=require('node:url').pathToFileURL(__filename).href;";
const later = 'later:';

/** Leaves dynamic imports of our own files out, and notes them; the number of each is its name. */
function laterFiles(files: string[]): Plugin {
  return {
    name: 'later',
    setup(building) {
      building.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined;
        const file = join(resolveDir, path);
        if (!files.includes(file)) files.push(file);
        return { path: `${later}${files.indexOf(file)}`, external: true };
      });
    },
  };
}

/** Beginning of the file: packed parts are compiled at the first request for one. */
const asksLater = `{const load=require;let parts;require=(name)=>{
if(!name.startsWith('${later}'))return load(name);
if(parts===undefined){const{Module}=load('node:module');const held=new Module(__filename,module);held.filename=__filename;held.paths=module.paths;held._compile(laterText(),__filename);parts=held.exports;}
return parts[name]();};}`;

/**
 * Bundles a command line tool into one CommonJS file that starts soon, and returns its text. An ES module loads every
 * part of Node that any of its modules names before its first line runs (TLS, HTTP and undici for `--help`), and all of
 * a file is parsed before it runs: dynamic imports of the entry are a packed text in the file, which is compiled on
 * demand. The two share no module: classes of one are unknown to the other. No top-level await.
 */
export async function bundleCommand(entry: string): Promise<string> {
  const files: string[] = [];
  const core = await bundled({
    ...commonJs,
    entryPoints: [entry],
    plugins: [laterFiles(files)],
    supported: { 'dynamic-import': false },
    banner: { js: thisFileUrl + asksLater },
  });
  if (files.length === 0) return core;
  const members = files.map((file, at) => `${JSON.stringify(later + at)}:()=>require(${JSON.stringify(file)})`);
  const rest = await bundled({
    ...commonJs,
    stdin: { contents: `module.exports={${members.join(',')}};`, resolveDir: dirname(entry), loader: 'js' },
    banner: { js: thisFileUrl },
  });
  const packed = brotliCompressSync(rest, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }).toString('base64');
  return `${core}\nfunction laterText(){return require('node:zlib').brotliDecompressSync(Buffer.from('${packed}','base64')).toString()}\n`;
}
