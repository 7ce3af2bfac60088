import type { Test } from 'tap'
import { freePort } from '../free-port.ts'
import { type Started, type StartOptions, startService as startOnPort } from '../start.ts'

export type { Fields, Started } from '../start.ts'

const free: string[] = []

/**
 * Returns a port for the services of a test. Tests of a process use it one after another, because Chromium keeps the
 * compiled scripts of a page by their address. API answers are never cached, and the page has a tag of its content.
 */
export const leasePort = async (t: Test): Promise<string> => {
  const port = free.pop() ?? String(await freePort('leased'))
  t.teardown(() => free.push(port))
  return port
}

/** Starts a service on a leased port. */
export const startService = async (
  t: Test,
  settings: Parameters<typeof startOnPort>[1] = {},
  options: StartOptions = {},
): Promise<Started> => startOnPort(t, { 'server.http_port': await leasePort(t), ...settings }, options)
