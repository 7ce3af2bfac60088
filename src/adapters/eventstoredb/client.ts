import type { EventStoreDBClient } from '@eventstore/db-client'

export type Driver = typeof import('@eventstore/db-client')

/** Private members of the driver's client that have to be patched. */
type Stub = { readonly getChannel: () => { readonly getConnectivityState: (connect: boolean) => number } }
type Inside = {
  execute: <T>(service: unknown, name: string, action: (stub: Stub) => Promise<T>) => Promise<T>
  handleError: (stub: Stub, error: unknown) => Promise<void>
  resolveUri: () => Promise<string>
  readonly getChannel: () => Promise<{ readonly close: () => void }>
}
export const insideOf = (client: EventStoreDBClient) => client as unknown as Inside
const SHUT_DOWN = 4

/**
 * Catches two kinds of rejected promises that the driver does not handle. Without this, each of them would end the
 * process when a server disappears during a call.
 */
export const patchClient = (client: EventStoreDBClient): EventStoreDBClient => {
  const inside = insideOf(client)
  const { execute, handleError } = inside
  // Fails when the search for another node fails.
  inside.handleError = (stub, error) => handleError(stub, error).catch(() => undefined)
  // An append on a channel that another call has just closed throws outside of any promise.
  inside.execute = (service, name, action) =>
    execute(service, name, (stub) => {
      const gone = stub.getChannel().getConnectivityState(false) === SHUT_DOWN
      return gone
        ? Promise.reject(new Error('the connection to EventStoreDB was closed before the call'))
        : action(stub)
    })
  return client
}
