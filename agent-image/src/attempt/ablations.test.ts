import { ablationAnnotations } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import { mayBacktrack, refuseAblations } from './meter.ts';

const experiment = (asked: string | undefined, ablations?: readonly string[]) =>
  ({
    task: { metadata: { annotations: asked === undefined ? {} : { [ablationAnnotations.asked]: asked } } },
    pool: ablations === undefined ? {} : { ablations },
  }) as unknown as Parameters<typeof mayBacktrack>[0];

describe('a task that asks for ablations', () => {
  it.for([
    ['nothing', undefined, undefined],
    ['what its pool allows', 'Backtracking, HRM', ['HRM', 'Backtracking']],
  ] as const)('is worked on when it asks for %s', ([, asked, allowed]) => {
    expect(() => refuseAblations(experiment(asked, allowed))).not.toThrow();
  });

  it.for([
    ['what its pool does not allow', 'EBM', ['HRM'], /does not allow its tasks the ablation EBM; name it in the annotation/],
    ['anything of a pool that says nothing', 'HRM', undefined, /does not allow/],
    ['what is no ablation', 'Rails', ['Rails'], /there is no ablation Rails; choose of HRM/],
  ] as const)('is refused as invalid when it asks for %s', ([, asked, allowed, why]) => {
    const refuse = (): void => refuseAblations(experiment(asked, allowed));
    expect(refuse).toThrow(why);
    expect(refuse).toThrow(expect.objectContaining({ failureClass: 'InvalidInput', reason: 'AblationRefused' }) as Error);
  });

  it('goes back to other trees unless it asks not to', () => {
    expect(mayBacktrack(experiment(undefined))).toBe(true);
    expect(mayBacktrack(experiment('K4', ['K4']))).toBe(true);
    expect(mayBacktrack(experiment('HRM,Backtracking', ['HRM', 'Backtracking']))).toBe(false);
  });
});
