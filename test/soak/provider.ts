/**
 * The world outside of the fleet, in a pod: a scripted model (OpenAI chat API) and an MCP server whose one tool writes into a ledger.
 * Both remember nothing of a conversation; what was done twice stands in the ledger twice. Argument: the key of the model.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { caseIn, nextCall } from './tasks.ts';

const [, , key = ''] = process.argv;
const port = 8080;
/** How often each entry was made. */
const entries = new Map<string, number>();
let answered = 0;

function mcpServer(): Server {
  const made = new Server({ name: 'ledger', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object' as const, properties: { entry: { type: 'string' } }, required: ['entry'] };
  made.setRequestHandler('tools/list', () => ({ tools: [{ name: 'record', description: 'Writes an entry.', inputSchema }] }));
  made.setRequestHandler('tools/call', ({ params }) => {
    const entry = String(params.arguments?.['entry']);
    entries.set(entry, (entries.get(entry) ?? 0) + 1);
    return { content: [{ type: 'text', text: 'written' }] };
  });
  return made;
}

interface Asked {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly tool_calls?: readonly unknown[] }[];
}

function answerTo({ messages }: Asked): { readonly message: object; readonly finish: string } {
  const made = messages.reduce((sum, { tool_calls: calls = [] }) => sum + calls.length, 0);
  const drawn = caseIn(JSON.stringify(messages));
  const call = drawn === undefined ? undefined : nextCall(drawn, made);
  if (call === undefined) return { message: { role: 'assistant', content: 'Done.' }, finish: 'stop' };
  const asked = { id: `call_${made}`, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } };
  return { message: { role: 'assistant', content: 'I go on.', tool_calls: [asked] }, finish: 'tool_calls' };
}

async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  if (request.headers.authorization !== `Bearer ${key}`) return reply(401, { error: { message: 'no such key' } });
  const asked = JSON.parse(Buffer.concat(parts).toString('utf8')) as Asked;
  const { message, finish } = answerTo(asked);
  answered += 1;
  const head = { id: `chatcmpl-${answered}`, created: 1, model: 'scripted' };
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  if (asked.stream !== true) {
    return reply(200, {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finish, logprobs: null }],
      usage,
    });
  }
  const calls = 'tool_calls' in message ? (message.tool_calls as readonly object[]) : [];
  const delta = calls.length > 0 ? { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) } : message;
  const events = [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { choices: [], usage },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...event })}\n\n`);
  response.end('data: [DONE]\n\n');
}

const mcp = toNodeHandler(createMcpHandler(mcpServer));
createServer((request, response) => {
  if (request.url === '/mcp') void mcp(request as never, response);
  else if (request.url === '/ledger') response.end(JSON.stringify({ answered, entries: Object.fromEntries(entries) }));
  else chat(request, response).catch(() => response.destroy());
}).listen(port, '::');
