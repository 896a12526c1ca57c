import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { ClusterError } from '../base/errors.ts';

/** Absolute path of an executable in PATH, if there is one. */
async function findInPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(':').filter(Boolean)) {
    const candidate = join(folder, name);
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  return undefined;
}

/** Returns a `bin` over tools that were found before; it throws AF_BINARY_UNKNOWN for any other name. */
export function binOver(tools: ReadonlyMap<string, string>, provider: string): (name: string) => string {
  return (name) => {
    const path = tools.get(name);
    if (path !== undefined) return path;
    throw new ClusterError('AF_BINARY_UNKNOWN', {
      what: `there is no binary "${name}"`,
      where: `provider ${provider}, PATH`,
      cure: `Install ${name} and put it into PATH`,
    });
  };
}

/** Finds the usual client tools in PATH; missing ones are not in the map. */
export async function clientTools(): Promise<Map<string, string>> {
  const names = ['kubectl', 'helm', 'kind', 'docker'];
  const found = await Promise.all(names.map(async (name) => [name, await findInPath(name, process.env['PATH'] ?? '')] as const));
  return new Map(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
