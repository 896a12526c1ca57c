// Set up before each file: an operator looks at the tasks of all files, so that those that keep any go one after another.
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { Turns } from '../turns/turns.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Distinguishes this run of the contract tests. */
    readonly contractRun: string;
  }
}

/** Files without objects for an operator: their requests are dry runs, or of another group. */
const beside = /\/test\/contract\/(?:api\/manifests|chart\/|kube\/)/;

let end = (): Promise<void> => Promise.resolve();

beforeAll(async () => {
  if (!beside.test(expect.getState().testPath ?? '')) end = await new Turns(inject('contractRun')).alone();
});

afterAll(() => end());
