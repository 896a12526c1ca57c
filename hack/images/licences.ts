// hack, images: licence texts of npm packages in a bundle. Of other folders imports hack/cache, hack/cluster/build.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The folders of npm packages among the inputs of a bundle, sorted. Paths are relative to the repository. */
export function bundledPackages(inputs: readonly string[]): readonly string[] {
  const folders = inputs.flatMap((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []);
  return [...new Set(folders)].sort();
}

/**
 * The licence texts of the packages that are in a bundle, which minifying removed from it.
 * A package without a licence file is named with the licence that its package.json declares.
 */
export async function licenceTexts(repository: string, inputs: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const folder of bundledPackages(inputs)) {
    const manifest = JSON.parse(await readFile(join(repository, folder, 'package.json'), 'utf8')) as Record<string, unknown>;
    const names = (await readdir(join(repository, folder))).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name)).sort();
    const head = `${String(manifest['name'])} ${String(manifest['version'])} (${String(manifest['license'])})`;
    const files: string[] = [];
    for (const name of names) files.push((await readFile(join(repository, folder, name), 'utf8')).trim());
    texts.push([head, ...files].join('\n\n'));
  }
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
