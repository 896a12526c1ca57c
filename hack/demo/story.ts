import type { KeeperClient, ExecResult } from '@agentfleet/keeper/client';
import { newExecId } from '@agentfleet/keeper/client';

/** Tells the demo as it happens: chapters, facts, and proofs that hold or fail. */
export class Story {
  readonly client: KeeperClient;
  readonly baseUrl: string;
  passed = 0;
  failed = 0;

  constructor(client: KeeperClient, baseUrl: string) {
    this.client = client;
    this.baseUrl = baseUrl;
  }

  chapter(title: string): void {
    console.log(`\n${title}`);
  }

  fact(text: string): void {
    console.log(`     ${text}`);
  }

  /** States a proof. A proof that does not hold fails the demo at its end. */
  prove(claim: string, holds: boolean, seen = ''): void {
    if (holds) this.passed += 1;
    else this.failed += 1;
    console.log(`  ${holds ? '✓' : '✗'}  ${claim}${seen === '' ? '' : ` — ${seen}`}`);
  }

  /** Runs a shell command in the user's container. */
  shell(command: string, stdin?: string): Promise<ExecResult> {
    return this.client.run({ execId: newExecId(), tool: 'Shell', command, timeoutSeconds: 60, ...(stdin === undefined ? {} : { stdin }) });
  }
}
