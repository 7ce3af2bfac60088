import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import type { Started } from '../start.ts'

export type Event = {
  readonly id: string
  readonly data: { readonly type: string; readonly etag: string; readonly lastModified: number }
}

/** A browser's `EventSource` without its reconnection: it sends no header but `Last-Event-ID`. */
export const listening = async (
  t: Test,
  { url }: Pick<Started, 'url'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) => {
  let text = ''
  let isEnded = false
  const asked = get(`${url}${path}`, { agent: false, headers })
  const end = () => void asked.destroy()
  t.teardown(end)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => (text += chunk))
  response.on('error', () => undefined)
  response.on('close', () => (isEnded = true))
  const answer = { status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '' }
  const events = (): readonly Event[] =>
    [...text.matchAll(/^id: (\d+)\nevent: message\ndata: (.*)\n\n/gm)].map(([, id, data]) => ({
      id: id!,
      data: JSON.parse(data!) as Event['data'],
    }))
  return { ...answer, events, text: () => text, isEnded: () => isEnded, isComplete: () => response.complete, end }
}
