import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadPack } from '@agentfleet/eval/format';
import { requireSound } from '@agentfleet/eval/verify';

// Its packages come from registries, which not every machine reaches: only the full run holds the pack to it.
it.runIf(process.env['AGENTFLEET_FULL'] === '1')(
  'the pack long has only sound tasks, each with a decoy, and carries the licences',
  async () => {
    const pack = await loadPack(fileURLToPath(new URL('./long', import.meta.url)));
    expect(pack.tasks.filter(({ decoys }) => decoys.length === 0).map(({ id }) => id)).toEqual([]);
    expect(pack.tasks.filter(({ files }) => !Object.keys(files).some((path) => path.includes('LICENSE'))).map(({ id }) => id)).toEqual([]);
    const options = { parallel: 2, memoryMiB: 1024, signal: new AbortController().signal };
    expect(await requireSound(pack, options)).toHaveLength(pack.tasks.length);
  },
);
