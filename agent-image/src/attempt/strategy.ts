import type { AttemptContext } from './ports.ts';
import type { LoopStrategy, Scope } from './scope.ts';
import type { ChatModels } from '../models/models.ts';

/** Whether the pool has a chat model that works on goals of every kind. */
export function hasChat({ pool }: Pick<AttemptContext, 'pool'>): boolean {
  return pool.experts.some(({ chat, role }) => chat !== undefined && role === 'Generalist');
}

/** The loop and its models, where the pool has a chat model; null: candidates are searched. */
export function chatStrategy({
  context,
  options: { loop },
}: Pick<Scope, 'context' | 'options'>): { readonly loop: LoopStrategy; readonly models: ChatModels } | null {
  const { models } = context;
  return loop !== undefined && models !== undefined && hasChat(context) ? { loop, models } : null;
}
