import { type KeeperClient, type ExecResult, newExecId } from '@agentfleet/keeper/client';
import { Proofs } from '../../proofs/proofs.ts';

/** The proofs about one sandbox, and how to reach it. */
export class Story extends Proofs {
  readonly client: KeeperClient;
  readonly baseUrl: string;

  constructor(client: KeeperClient, baseUrl: string) {
    super();
    this.client = client;
    this.baseUrl = baseUrl;
  }

  /** Runs a shell command in the user's container. */
  shell(command: string, stdin?: string): Promise<ExecResult> {
    return this.client.run({ execId: newExecId(), tool: 'Shell', command, timeoutSeconds: 60, ...(stdin === undefined ? {} : { stdin }) });
  }
}
