import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CasEngine, type Adoption, type SetMeta } from '../../snapshot/index.ts';
import { setMetaByTouch } from '../../snapshot/testing/harness.ts';
import { startHarness, type Harness, type HarnessOptions } from '../../testing/index.ts';

interface RealOptions extends HarnessOptions {
  /** Default: one process of `touch` for each path. */
  readonly setMeta?: SetMeta;
  /** Called when snapshots that are adopted have been made durable. */
  readonly onPlaced?: () => void;
}

/** A keeper with its real engine, whose restores need no built runner; the engine is opened at each start. */
export async function startRealKeeper(options: RealOptions = {}): Promise<Harness> {
  const storeDir = options.storeDir ?? join(await realpath(await mkdtemp(join(tmpdir(), 'keeper-store-'))), 'store');
  const snapshots: NonNullable<HarnessOptions['snapshots']> = async (config) => {
    const engine = new CasEngine({
      storeDir: join(storeDir, 'cas'),
      roots: config.roots,
      setMeta: options.setMeta ?? setMetaByTouch,
      clock: Date,
    });
    const adopt = engine.adopt.bind(engine);
    engine.adopt = (maxBytes) => tellPlaced(adopt(maxBytes), options.onPlaced);
    return engine;
  };
  const harness = await startHarness({ ...options, storeDir, snapshots });
  await harness.runner();
  return harness;
}

function tellPlaced(adoption: Adoption, reported: () => void = () => undefined): Adoption {
  return {
    add: (part) => adoption.add(part),
    place: async (snapshots, above) => {
      await adoption.place(snapshots, above);
      reported();
    },
    drop: () => adoption.drop(),
  };
}
