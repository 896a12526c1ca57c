import type { Timeline } from '../follow.ts';
import type { Stage, Evidence } from '../stage.ts';
import { approved } from './approved.ts';
import { badAgent } from './badAgent.ts';
import { conversed } from './conversed.ts';
import { oneToken, twoSteps, withPackages } from './repaired.ts';
import { undone } from './undone.ts';

/** One task of the demo: a manifest of `examples/`, and what it has to prove. */
export interface Story {
  readonly name: string;
  readonly title: string;
  readonly tell: (stage: Stage, timeline: Timeline) => Promise<Evidence>;
}

/** The tasks that run at once. */
export const stories: readonly Story[] = [
  { name: 'fix-parser', title: 'A bug in Python', tell: oneToken },
  { name: 'fix-cart', title: 'A bug in TypeScript, with packages to install', tell: withPackages },
  { name: 'two-bugs', title: 'Two bugs, so that the plan needs more than one step', tell: twoSteps },
  { name: 'cannot-be-met', title: 'Two tests contradict each other', tell: undone },
  { name: 'bad-agent', title: 'A recorded agent that behaves badly', tell: badAgent },
  { name: 'needs-approval', title: 'An act that needs a person', tell: approved },
  { name: 'write-module', title: 'A module written by a chat model, which a recording plays', tell: conversed },
];
