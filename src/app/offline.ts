import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { digester } from '../auth/client-token.ts'
import { fail } from '../cli/failure.ts'
import type { Services } from '../cli/services.ts'
import { info } from '../cli/terminal/terminal.ts'
import { reservations } from '../commands/reservations.ts'
import { enveloper } from '../commands/envelope.ts'
import { executor } from '../commands/execute.ts'
import { noFlag } from '../commands/flag/state.ts'
import { namespace as namespaceDecider } from '../commands/namespace.ts'
import type { Config } from '../config/load.ts'
import { refuse } from '../errors.ts'
import { sealer } from '../events/personal.ts'
import { presentAuthentication } from '../http/present/authentication.ts'
import { namesOf } from '../contract/identifiers.ts'
import { newToken } from '../contract/token.ts'
import { inFuture, issueToken, staticToken } from '../http/auth/issue-token.ts'
import { projections } from '../projections/all.ts'
import { namespaces } from '../projections/namespaces.ts'
import { byStream, keyOf, foldRow } from '../projections/engine/fold-rows.ts'
import { rebuild } from '../projections/engine/rebuild.ts'
import { runner } from '../projections/engine/runner.ts'
import { settle } from './settle.ts'
import { eventsOf, openStores, type Stores } from './stores.ts'

/** Works on stores that are there: a directory without a history is not made into one. */
const withStores = async <T>(config: Config, work: (stores: Stores) => Promise<T>): Promise<T> => {
  if (config.storage.type === 'embedded' && !existsSync(eventsOf(config)))
    fail(
      'notFound',
      `There is no ${eventsOf(config)}.`,
      'Name the data directory of a service that has run, with --data.',
    )
  const stores = await openStores(config, {})
  try {
    return await work(stores)
  } finally {
    await stores.close()
  }
}

/** Makes a static token on the data directory, for who has lost every other: the service must be down. */
export const createTokenOffline: Services['createTokenOffline'] = (config, { reason, ...request }) =>
  withStores(config, async (stores) => {
    const { log, views, keys, pepper } = stores
    const now = () => new Date()
    const seal = sealer(keys)
    await settle(stores, { error: (_, message) => info(message), info: (message) => info(message) })
    const names = namesOf(config.identifiers)
    const asked = newToken(names).read(request)
    inFuture(asked, now())
    const follower = runner({ log, views, projections, remember: () => {}, onError: () => {} })
    await follower.start()
    try {
      if (asked.namespaceKey !== '' && !(await views.get(namespaces, asked.namespaceKey))?.doc) {
        refuse('not_found', `namespace "${asked.namespaceKey}" not found`)
      }
      const { execute } = executor(log, enveloper(seal, 'command-line', now))
      const context = { actor: { kind: 'operator' }, ...(reason === undefined ? {} : { reason }) } as const
      const issuer = { execute, applied: follower.applied, digest: digester(pepper), now }
      const { clientToken, doc } = await issueToken(issuer, staticToken(asked), context)
      return { clientToken, authentication: await presentAuthentication(doc, names, seal, now()) }
    } finally {
      await follower.close()
    }
  })

/**
 * Deletes a flag on the data directory. Reads what concerns the flag and no more, for what all of them hold may be more than memory; its
 * rows are written at once, so that the next start does not read what is deleted.
 */
export const deleteFlagOffline: Services['deleteFlagOffline'] = (config, { namespace, key, reason }) =>
  withStores(config, async ({ log, views, keys }) => {
    const now = () => new Date()
    const { execute, foldOf } = executor(log, enveloper(sealer(keys), 'command-line', now))
    const { state } = await foldOf(namespaceDecider, namespace)
    const { incarnation = refuse('not_found', `namespace "${namespace}" not found`) } = state
    const of = { namespace, key, incarnation }
    const context = { actor: { kind: 'operator' }, ...(reason === undefined ? {} : { reason }) } as const
    const { stored } = await reservations(execute, foldOf, randomUUID, now).deleteFlag(of, context)
    if (stored.length === 0) noFlag(of)
    for (const [stream, events] of byStream(stored)) {
      for (const projection of projections.filter(({ category }) => stream.startsWith(`${category}-`))) {
        if ((await views.checkpoint(projection)) === undefined) continue
        await views.put(projection, [
          await foldRow(log, projection, events, await views.get(projection, keyOf(projection, stream))),
        ])
      }
    }
  })

/** Where every read model of the data directory stands. */
export const projectionStatus: Services['projectionStatus'] = (config) =>
  withStores(config, async ({ log, views }) => {
    const head = await log.head()
    const status = []
    for (const { name, version, ...view } of projections) {
      const { position } = (await views.checkpoint({ name, version, ...view })) ?? { position: 0n }
      let lag = 0
      for await (const page of log.readAll(position, head)) lag += page.length
      status.push({ name, version, position: String(position), head: String(head), lag })
    }
    return status
  })

/** Builds read models of the data directory anew. */
export const rebuildProjections: Services['rebuildProjections'] = (config, { names, progress, signal }) =>
  withStores(config, async ({ log, views }) => {
    const chosen = projections.filter(({ name }) => names.includes(name))
    const name = chosen.map((projection) => projection.name).join(', ')
    await rebuild(log, views, chosen, ({ done, position, head }) => {
      if (signal.aborted) throw signal.reason
      progress({ name, done, total: Math.round((done * Number(head)) / Number(position)) })
    })
  })
