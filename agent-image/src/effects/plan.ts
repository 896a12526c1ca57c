import type { NormalCommand } from '../rails/index.ts';
import { gitPush } from './compensation/gitPush.ts';
import { kubectl } from './compensation/kubectl.ts';
import { line } from './quote.ts';
import type { EffectPlan } from './types.ts';

/** What has a way back; the first that knows the command speaks. */
const known = [gitPush, kubectl] as const;

/** The effects outside of the sandbox of what an act runs there, one for each command. Pure. */
export function planEffects(external: readonly NormalCommand[], movesAbout: boolean): readonly EffectPlan[] {
  return external.map(({ argv, via }) => {
    // What only the run would tell, and what runs under another program or in another folder, is not understood well enough.
    const clear = via.length === 0 && !movesAbout && argv.every((word) => !word.includes('…'));
    const plan = clear ? known.map((of) => of(argv)).find((found) => found !== undefined) : undefined;
    return plan ?? unknown(argv);
  });
}

function unknown(argv: readonly string[]): EffectPlan {
  const why = 'nothing is known that takes it back';
  return { kind: 'Other', target: line(argv).slice(0, 200), look: () => Promise.resolve(() => Promise.resolve({ why })) };
}
