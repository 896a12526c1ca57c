import { build } from 'esbuild';

/** Bundles a TypeScript program for Node into one ES module and returns its text. */
export async function bundleProgram(entry: string): Promise<string> {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    write: false,
    minify: true,
    banner: { js: "import{createRequire}from'node:module';const require=createRequire('file:///');" },
  });
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return file.text;
}
