import { ClientTokenAuthentication, FliptClient as RestClient } from '@flipt-io/flipt'
import { FliptClient as LocalClient } from '@flipt-io/flipt-client-js'
import { OFREPProvider } from '@openfeature/ofrep-provider'
import { ErrorCode, OpenFeature } from '@openfeature/server-sdk'
import t from 'tap'
import { startService } from '../start.ts'
import { maker } from './flags.ts'
import { granted } from './granted.ts'

/** Official clients of the API family and of OpenFeature, as published, against a started service. */
await t.test('the official client libraries work without changes', async (t) => {
  const service = await startService(t, { 'identifiers.service': 'flipt' })
  const { url, token, request } = service
  const make = maker(service)
  await make.segment('germans', [{ property: 'country', operator: 'isoneof', value: '["de","at"]' }])
  await make.segment('adults', [{ type: 'NUMBER_COMPARISON_TYPE', property: 'age', operator: 'gte', value: '18' }])
  await make.segment(
    'anything',
    [
      { type: 'BOOLEAN_COMPARISON_TYPE', property: 'beta', operator: 'true' },
      { type: 'DATETIME_COMPARISON_TYPE', property: 'since', operator: 'lt', value: '2024-06-01T00:00:00Z' },
      { type: 'ENTITY_ID_COMPARISON_TYPE', property: 'entityId', operator: 'isoneof', value: '["user-1","user-7"]' },
    ],
    'ANY_MATCH_TYPE',
  )
  await make.boolean('release')
  await make.bySegment('release', { segmentKeys: ['germans', 'adults'], segmentOperator: 'AND_SEGMENT_OPERATOR' })
  await make.threshold('release', 33.3)
  await make.variantFlag('colour')
  const [red, green, blue] = [
    await make.variant('colour', 'red', '{"hex":"f00"}'),
    await make.variant('colour', 'green'),
    await make.variant('colour', 'blue', '[1,2,3]'),
  ]
  await make.rule('colour', { segmentKey: 'anything' }, { [red]: 10, [green]: 20, [blue]: 70 })
  await make.rule(
    'colour',
    { segmentKeys: ['adults', 'germans'], segmentOperator: 'OR_SEGMENT_OPERATOR' },
    { [green]: 50, [blue]: 50 },
  )
  await make.updateFlag('colour', { enabled: true, defaultVariantId: red })

  const rest = new RestClient({ url, authenticationStrategy: new ClientTokenAuthentication(token) })
  const local = await LocalClient.init({ url, authentication: { clientToken: token } as object, updateInterval: 0 })
  t.teardown(() => local.close())

  await t.test('for 20,000 random entities the local engine of a client gives the same answers', async (t) => {
    let seed = 42
    /** Linear congruential generator, so that the entities are the same in each run. */
    const below = (n: number) => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((seed / 2 ** 32) * n)
    }
    const pick = <T>(items: readonly T[]): T => items[below(items.length)]!
    // These entities stay within the limits of the local engine: it reads only integers and true or false, scales
    // shares below 100 to the whole, and returns no segments without a variant.
    const entities = Array.from({ length: 20_000 }, () => ({
      entityId: pick(['user-', 'ünï-', '用户']) + String(below(1_000_000)),
      context: {
        ...(below(5) > 0 && { country: pick(['de', 'at', 'fr', '']) }),
        ...(below(5) > 0 && { age: pick(['17', '18', 'old', '100']) }),
        ...(below(2) > 0 && { beta: pick(['true', 'false', 'yes']) }),
        ...(below(2) > 0 && { since: pick(['2024-05-01T10:00:00+02:00', '2024-06-01T00:00:00Z', 'never']) }),
      },
    }))
    const values = new Map<string, number>()
    const sorted = (keys: readonly string[]) => [...keys].sort()
    const SIZE = 500
    let wrong = 0
    for (let from = 0; from < entities.length; from += SIZE) {
      const some = entities.slice(from, from + SIZE)
      const requests = some.flatMap((one) =>
        ['release', 'colour'].map((flagKey) => ({ namespaceKey: 'default', flagKey, ...one })),
      )
      const { responses } = await rest.evaluation.batch({ requests })
      for (const [n, one] of some.entries()) {
        const here = { boolean: responses[2 * n]!.booleanResponse!, variant: responses[2 * n + 1]!.variantResponse! }
        const there = {
          boolean: local.evaluateBoolean({ flagKey: 'release', ...one }),
          variant: local.evaluateVariant({ flagKey: 'colour', ...one }),
        }
        const told = ({ boolean, variant }: typeof here | typeof there) => {
          const { match, reason, variantKey, variantAttachment } = variant
          const segments = [sorted(boolean.segmentKeys), match && sorted(variant.segmentKeys)]
          return JSON.stringify([
            boolean.enabled,
            boolean.reason,
            match,
            reason,
            variantKey,
            variantAttachment,
            segments,
          ])
        }
        if (told(here) !== told(there) && wrong++ < 5) t.same(told(here), told(there), JSON.stringify(one))
        const value = `${here.boolean.enabled} ${here.variant.match} ${here.variant.variantKey}`
        values.set(value, (values.get(value) ?? 0) + 1)
      }
    }
    t.equal(wrong, 0)
    t.ok(values.size >= 8, `the entities are of many kinds: ${JSON.stringify(Object.fromEntries(values))}`)
  })

  await t.test('a client with a local engine loads flags again only after changes', async (t) => {
    t.equal(await local.refresh(), false, 'no change: 304')
    await make.boolean('fresh', true)
    t.equal(await local.refresh(), true)
    t.equal(local.evaluateBoolean({ flagKey: 'fresh', entityId: 'e', context: {} }).enabled, true)
    await make.updateFlag('fresh', { enabled: false })
    await make.updateFlag('fresh', { enabled: true })
    t.equal(await local.refresh(), true, 'a state that came back is a new state')
    t.same(
      local
        .listFlags()
        .map(({ key }: { readonly key: string }) => key)
        .sort(),
      ['colour', 'fresh', 'release'],
    )
  })

  await t.test('the REST client evaluates and lists flags, and understands refusals', async (t) => {
    const asked = { namespaceKey: 'default', entityId: 'user-1', context: { age: 20, beta: true } }
    const { enabled, reason } = await rest.evaluation.boolean({ ...asked, flagKey: 'fresh' })
    t.same([enabled, reason], [true, 'DEFAULT_EVALUATION_REASON'])
    const { match, segmentKeys } = await rest.evaluation.variant({ ...asked, flagKey: 'colour', reference: 'main' })
    t.same([match, segmentKeys], [true, ['anything']])
    await t.rejects(rest.evaluation.boolean({ ...asked, flagKey: 'nope' }), {
      message: 'flag "default/nope" not found',
    })
    const stranger = new RestClient({ url, authenticationStrategy: new ClientTokenAuthentication('no-such-token') })
    await t.rejects(stranger.evaluation.boolean({ ...asked, flagKey: 'fresh' }), {
      message: 'request was not authenticated',
    })
    const { flags, totalCount } = await rest.flags.listFlags('default', { limit: 2 })
    t.same([flags.map(({ key }) => key), totalCount], [['release', 'colour'], 3])
  })

  await t.test('OpenFeature evaluates flags with its provider', async (t) => {
    const provider = new OFREPProvider({
      baseUrl: url,
      headers: { Authorization: `Bearer ${token}`, 'X-Flipt-Namespace': 'default' },
    })
    await OpenFeature.setProviderAndWait(provider)
    t.teardown(() => OpenFeature.close())
    const client = OpenFeature.getClient()
    const known = { targetingKey: 'user-1', country: 'de', age: 40 }
    const release = await client.getBooleanDetails('release', false, known)
    t.match(release, { value: true, variant: 'true', reason: 'TARGETING_MATCH' })
    const colour = await client.getStringDetails('colour', 'none', { ...known, beta: true })
    const same = await rest.evaluation.variant({
      namespaceKey: 'default',
      flagKey: 'colour',
      entityId: 'user-1',
      context: { ...known, beta: true },
    })
    t.match(colour, { value: same.variantKey, reason: 'TARGETING_MATCH', flagMetadata: { segments: 'anything' } })
    t.match(await client.getBooleanDetails('nope', true, known), { value: true, errorCode: ErrorCode.FLAG_NOT_FOUND })
    t.match(await client.getStringDetails('colour', 'none', {}), {
      value: 'none',
      errorCode: ErrorCode.TARGETING_KEY_MISSING,
    })
    t.match(await client.getStringDetails('release', 'none', known), {
      value: 'none',
      errorCode: ErrorCode.TYPE_MISMATCH,
    })
  })

  await t.test('tokens with the roles server and client can evaluate with the published client', async (t) => {
    const [server, client] = [await granted(service, { role: 'server' }), await granted(service, { role: 'client' })]
    const asked = { flagKey: 'colour', entityId: 'user-1', context: { country: 'de', age: '40' } }
    const whole = await rest.evaluation.variant({ namespaceKey: 'default', ...asked })
    t.same(whole.segmentKeys, ['anything'])
    for (const [{ clientToken }, segmentKeys] of [
      [server, whole.segmentKeys],
      [client, []],
    ] as const) {
      const strategy = new ClientTokenAuthentication(clientToken)
      const { evaluation } = new RestClient({ url, authenticationStrategy: strategy })
      const { variantKey, segmentKeys: told } = await evaluation.variant({ namespaceKey: 'default', ...asked })
      t.same([variantKey, told], [whole.variantKey, segmentKeys])
      const provider = new OFREPProvider({
        baseUrl: url,
        headers: { Authorization: `Bearer ${clientToken}`, 'X-Flipt-Namespace': 'default' },
      })
      await OpenFeature.setProviderAndWait('roles', provider)
      const known = { targetingKey: asked.entityId, ...asked.context }
      const colour = await OpenFeature.getClient('roles').getStringDetails('colour', 'none', known)
      t.match(colour, { value: whole.variantKey, reason: 'TARGETING_MATCH' })
      t.equal('segments' in colour.flagMetadata, segmentKeys.length > 0)
    }
    const authentication = { clientToken: server.clientToken } as object
    const engine = await LocalClient.init({ url, authentication, updateInterval: 0 })
    t.teardown(() => engine.close())
    t.equal(engine.evaluateVariant(asked).variantKey, whole.variantKey)
  })

  await t.test('the header names that clients send are accepted', async (t) => {
    const { status } = await request(
      'POST',
      '/ofrep/v1/evaluate/flags/release',
      { context: { targetingKey: 'e' } },
      { 'X-Flipt-Namespace': 'nowhere' },
    )
    t.equal(status, 404)
  })
})
