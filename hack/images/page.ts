// hack, images: files and licences of the dashboard's page. Of other folders imports hack/cache, hack/cluster/build.
import { basename, join, relative } from 'node:path';
import { build } from 'vite';
import { licenceTexts } from './licences.ts';
import { repository, storeContent } from './parts.ts';
import type { HashedFile } from './rootfs.ts';

/** The dashboard's page: its files by their names below its folder, and the licences of the packages in its scripts. */
export interface Page {
  readonly files: readonly { readonly name: string; readonly content: HashedFile }[];
  readonly licences: HashedFile;
}

/** Builds the page in memory, as `npm run build -w @agentfleet/dashboard` does. */
export async function dashboardPage(): Promise<Page> {
  const configFile = join(repository, 'dashboard/client/vite.config.ts');
  const made = await build({ configFile, mode: 'production', logLevel: 'error', build: { write: false } });
  const output = [made].flat().flatMap((one) => ('output' in one ? one.output : []));
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const inside = modules.filter((id) => id.startsWith(repository)).map((id) => relative(repository, id));
  const files = output.map(async (file) => ({
    name: file.fileName,
    content: await storeContent(basename(file.fileName), file.type === 'chunk' ? file.code : file.source),
  }));
  return { files: await Promise.all(files), licences: await storeContent('page.LICENSES', await licenceTexts(repository, inside)) };
}
