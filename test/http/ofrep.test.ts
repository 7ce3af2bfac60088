import t from 'tap'
import { booleanBucket } from '../../src/evaluation/bucket.ts'
import { type Headers, startService } from '../start.ts'
import { maker } from './flags.ts'

type Said = Readonly<Record<string, unknown>>
const O = '/ofrep/v1/evaluate/flags'

await t.test('flags are evaluated with OpenFeature remote evaluation (OFREP)', async (t) => {
  const service = await startService(t)
  const { request } = service
  const make = maker(service)
  await make.segment('germans', [{ property: 'country', operator: 'eq', value: 'de' }])
  await make.boolean('on', true)
  await make.boolean('half')
  await make.bySegment('half', { segmentKey: 'germans' })
  await make.threshold('half', 50)
  await make.variantFlag('colour')
  const red = await make.variant('colour', 'red', '{"hex":"f00"}')
  await make.rule('colour', { segmentKey: 'germans' }, { [red]: 100 })
  await make.variantFlag('off', false)

  const one = (key: string, context?: unknown, headers: Headers = {}) =>
    request('POST', `${O}/${key}`, context === undefined ? {} : { context }, headers)

  await t.test('the configuration for OFREP clients is returned', async (t) => {
    const { json } = await request('GET', '/ofrep/v1/configuration')
    t.same(json, {
      name: 'rollcall',
      capabilities: {
        cacheInvalidation: {
          polling: { enabled: true, minPollingIntervalMs: 60000 },
          eventStreams: { enabled: true, types: ['sse'] },
        },
        flagEvaluation: { supportedTypes: ['string', 'boolean'] },
      },
    })
  })

  await t.test('the OFREP answer for a flag has a value, a variant and a reason', async (t) => {
    const none = { metadata: {} }
    t.same((await one('on', { targetingKey: 'e' })).json, {
      key: 'on',
      reason: 'DEFAULT',
      variant: 'true',
      value: true,
      ...none,
    })
    const matched = { key: 'half', reason: 'TARGETING_MATCH', variant: 'true', value: true, ...none }
    t.same((await one('half', { targetingKey: 'e', country: 'de' })).json, matched)
    const metadata = { attachment: '{"hex":"f00"}', segments: 'germans' }
    const colour = { key: 'colour', reason: 'TARGETING_MATCH', variant: 'red', value: 'red', metadata }
    t.same((await one('colour', { targetingKey: 'e', country: 'de' })).json, colour)
    t.same((await one('colour', { targetingKey: 'e' })).json, {
      key: 'colour',
      reason: 'UNKNOWN',
      variant: '',
      value: '',
      ...none,
    })
    t.same((await one('off', { targetingKey: 'e' })).json, {
      key: 'off',
      reason: 'DISABLED',
      variant: '',
      value: '',
      ...none,
    })
    t.equal((await one('on')).headers['content-type'], 'application/json')
  })

  await t.test('OFREP requires a targeting key only if the answer depends on it', async (t) => {
    t.match((await one('on')).json, { value: true }, 'no threshold')
    t.match((await one('half', { country: 'de' })).json, { value: true }, 'a segment came first')
    for (const [key, context] of [
      ['half', {}],
      ['half', { targetingKey: '' }],
      ['half', { targetingKey: null }],
      ['colour', { country: 'de' }],
      ['off', undefined],
    ] as const) {
      const { status, json } = await one(key, context)
      t.equal(status, 400)
      t.match(json, { key, errorCode: 'TARGETING_KEY_MISSING', errorDetails: /./ })
    }
    t.equal((await one('half', { targetingKey: 7 })).status, 200, 'a number is a key')
  })

  await t.test('OFREP evaluates a large integer as targeting key by its digits', async (t) => {
    const bucket = (key: string) => booleanBucket(key, 'half') < 50
    for (const key of ['9007199254740993', '9007199254740995', '18446744073709551617', '90071992547409931']) {
      const { json } = await request('POST', `${O}/half`, `{"context":{"targetingKey":${key}}}`)
      t.equal(json['value'], bucket(key), key)
    }
  })

  await t.test('OFREP errors have the form of its specification, with the usual status and headers', async (t) => {
    const said = async (answer: Promise<{ status: number; json: Said; headers: Said }>, status: number, body: Said) => {
      const { status: given, json, headers } = await answer
      t.equal(given, status, JSON.stringify(body))
      t.match(json, body)
      t.notOk('details' in json)
      t.equal(headers['content-type'], 'application/json')
      t.ok(headers['x-request-id'])
    }
    await said(one('nope'), 404, { key: 'nope', errorCode: 'FLAG_NOT_FOUND', errorDetails: 'flag was not found nope' })
    await said(request('POST', `${O}/on`, '{'), 400, { key: 'on', errorCode: 'PARSE_ERROR' })
    for (const context of ['x', 7, []]) await said(one('on', context), 400, { key: 'on', errorCode: 'INVALID_CONTEXT' })
    await said(request('POST', O, { context: 1 }), 400, { errorCode: 'INVALID_CONTEXT' })
    await said(request('POST', `${O}/on`, '{"context":{"a":[{"b":1e400}]}}'), 400, {
      errorCode: 'INVALID_CONTEXT',
      errorDetails: 'invalid field context.a[0].b: must not contain numbers out of range',
    })
    const noKey = 'invalid field key: must not be empty'
    await said(request('POST', `${O}//`, {}), 400, { errorDetails: noKey })
    await said(one('on', {}, { authorization: '' }), 401, {
      key: 'on',
      errorCode: 'GENERAL',
      errorDetails: 'request was not authenticated',
    })
    const charset = { 'content-type': 'application/json; charset=latin1' }
    await said(one('on', {}, charset), 415, { errorCode: 'GENERAL', errorDetails: 'unsupported charset' })
    await said(one('on', {}, { 'After-Position': '-1' }), 400, { errorCode: 'GENERAL' })
    t.match((await one('on', {}, { authorization: 'Bearer no' })).headers['www-authenticate'], /invalid_token/)
    const general = { errorCode: 'GENERAL' }
    await said(request('GET', `${O}/on`), 405, { ...general, errorDetails: 'Method Not Allowed' })
    await said(request('POST', '/ofrep/v1/nothing'), 404, { ...general, errorDetails: 'Not Found' })
    const [absolute, ipv6] = ['http://service.test', 'HTTPS://[::1]:80']
    const relative = [
      `${O}/%zz`,
      `${O}/a%2fb`,
      `${O}/${'k'.repeat(3000)}`,
      `${O}/on/more`,
      '/ofrep',
      '/ofrep/%',
      '/ofrep?a=/',
    ]
    const others = [
      `${absolute}/ofrep`,
      `${absolute}${O}/%zz`,
      `${ipv6}/ofrep/nothing`,
      `${ipv6}/ofrep?a`,
      '/%6Ffrep/nothing',
    ]
    for (const path of [...relative, ...others])
      t.match((await request('POST', path, {})).json, { ...general, code: undefined, errorDetails: /./ }, path)
    for (const path of ['/ofreps', '/api/ofrep', '/?/ofrep', 'http://ofrep', 'http://ofrep/nothing?/ofrep'])
      t.match((await request('POST', path)).json, { code: 5, message: 'Not Found' }, path)
  })

  await t.test('an OFREP bulk request gets all flags that can be evaluated, or the named ones, in order', async (t) => {
    const bulk = async (context?: Said, headers: Headers = {}) =>
      request<{ flags: readonly Said[] }>('POST', O, { context }, headers)
    const keys = async (context?: Said) => (await bulk(context)).json.flags.map(({ key }) => key)
    t.same(await keys({ targetingKey: 'e' }), ['on', 'half', 'colour'], 'not the disabled variant flag')
    t.same(await keys({ targetingKey: 'e', flags: '' }), ['on', 'half', 'colour'])
    t.same(await keys({ targetingKey: 'e', flags: ' off , nope,on' }), ['off', 'nope', 'on'])
    t.match((await bulk({ flags: 'nope,half,on' })).json.flags, [
      { key: 'nope', errorCode: 'FLAG_NOT_FOUND', errorDetails: 'flag was not found nope' },
      { key: 'half', errorCode: 'TARGETING_KEY_MISSING' },
      { key: 'on', value: true },
    ])
    const elsewhere = { 'X-Service-Namespace': 'nowhere' }
    t.same((await bulk({ targetingKey: 'e' }, elsewhere)).json.flags, [])
    t.match((await bulk({ flags: 'on' }, elsewhere)).json.flags, [{ key: 'on', errorCode: 'FLAG_NOT_FOUND' }])
    t.equal((await one('on', {}, elsewhere)).status, 404)
    t.equal((await one('on', {}, { 'X-Service-Namespace': '' })).status, 200)
  })

  await t.test('an OFREP bulk request names flags in a list as in a text', async (t) => {
    const keys = async (flags: unknown) => {
      const { json } = await request<{ flags: Said[] }>('POST', O, { context: { targetingKey: 'e', flags } })
      return json.flags.map(({ key, errorCode }) =>
        errorCode === undefined ? key : `${key as string}: ${errorCode as string}`,
      )
    }
    t.strictSame(await keys(['colour', 'on', 'no', ' on ']), ['colour', 'on', 'no: FLAG_NOT_FOUND'])
    t.strictSame(await keys('colour, on ,no'), ['colour', 'on', 'no: FLAG_NOT_FOUND'])
    t.strictSame(await keys([]), await keys(''))
    t.strictSame(await keys(null), await keys(''))
    t.match((await one('on', { flags: 7 })).json, { key: 'on', value: true }, 'a property like any other')
    for (const flags of [[1], [{ key: 'on' }], [['on']], [true], 7, true, { on: true }])
      t.match((await request('POST', O, { context: { flags } })).json, {
        errorCode: 'INVALID_CONTEXT',
        errorDetails: 'invalid field context.flags: must be text or a list of texts',
      })
    const many = Array.from({ length: 1001 }, (_, n) => `f${n}`)
    t.match((await request('POST', O, { context: { flags: many } })).json, { errorDetails: /at most 1000 flags/ })
  })

  await t.test('the tag of an OFREP bulk answer depends on flags and context, and is never used again', async (t) => {
    const ask = async (context: Said, held = '"none"') =>
      request('POST', `${O}?flagConfigEtag=x`, { context }, { 'if-none-match': held })
    const tag = String((await ask({ targetingKey: 'e', a: '1' })).headers['etag'])
    const same = await ask({ a: '1', targetingKey: 'e' }, `W/${tag}`)
    t.equal(same.status, 304)
    t.equal(same.text, '')
    t.equal((await ask({ targetingKey: 'f', a: '1' }, tag)).status, 200)
    await make.updateFlag('on', { enabled: false })
    await make.updateFlag('on', { enabled: true })
    t.equal((await ask({ targetingKey: 'e', a: '1' }, tag)).status, 200)
  })

  await t.test('a token for one namespace evaluates over OFREP with its own header', async (t) => {
    const team = maker(service, 'team')
    await team.namespace()
    await team.boolean('f', true)
    const { json } = await request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
      name: 'n',
      namespaceKey: 'team',
    })
    const authorization = `Bearer ${json.clientToken}`
    t.equal((await one('f', {}, { authorization, 'X-Service-Namespace': 'team' })).status, 200)
    const refused = await one('on', {}, { authorization })
    t.equal(refused.status, 403)
    t.match(refused.json, { key: 'on', errorCode: 'GENERAL', errorDetails: 'permission denied' })
  })

  await t.test('an OFREP bulk request may name 1000 flags, each once', async (t) => {
    const bulk = (flags: string) =>
      request<{ flags: readonly Said[] }>('POST', O, { context: { targetingKey: 'e', flags } })
    const keys = Array.from({ length: 999 }, (_, n) => `f${n}`)
    const { status, json } = await bulk(['on', ...keys].join(','))
    t.equal(status, 200)
    t.equal(json.flags.length, 1000)
    t.match(json.flags[0], { key: 'on', value: true })
    t.match(json.flags[999], { key: 'f998', errorCode: 'FLAG_NOT_FOUND' })
    for (const more of [
      ['on', 'on', ...keys],
      Array.from({ length: 32_768 }, () => 'f'),
      Array.from({ length: 1001 }, () => ''),
    ]) {
      const refused = await bulk(more.join(','))
      t.equal(refused.status, 400, `${more.length} names`)
      t.same(refused.json, {
        errorCode: 'INVALID_CONTEXT',
        errorDetails: 'invalid field context.flags: must name at most 1000 flags',
      })
    }
    const twice = await bulk('on, off ,on,,off,  on')
    t.same(
      twice.json.flags.map(({ key }) => key),
      ['on', 'off'],
    )
    t.same((await bulk(', ,')).json.flags, [])
  })

  await t.test('an OFREP bulk request over the work limit gets the flags evaluated so far', async (t) => {
    const p = `${' '.repeat(65_534)}x`
    await make.segment(
      'long',
      Array.from({ length: 20 }, (_, n) => ({ property: 'p', operator: 'notcontains', value: `${'a'.repeat(9)}${n}` })),
    )
    const keys = Array.from({ length: 30 }, (_, n) => `long-${n}`)
    for (const key of keys) {
      await make.boolean(key)
      await make.bySegment(key, { segmentKey: 'long' })
    }
    const { status, json } = await request<{ flags: readonly Said[] }>('POST', O, {
      context: { targetingKey: 'e', p, flags: [...keys, 'on'].join(',') },
    })
    t.equal(status, 200)
    // Each reads 20 times the value and 32 characters; the limit for all is 33,554,432 characters.
    const answered = Math.floor(33_554_432 / (20 * (65_535 + 32)))
    t.equal(json.flags.filter(({ value }) => value === true).length, answered + 1)
    t.match(json.flags[answered], { errorCode: 'GENERAL', errorDetails: 'evaluation takes too much work' })
    t.match(json.flags.at(-1), { key: 'on', value: true })
    const requests = keys.map((flagKey) => ({ flagKey, entityId: 'e', context: { p } }))
    const batch = await request('POST', '/evaluate/v1/batch', { requests })
    t.match(batch.json, { code: 3, message: 'evaluation takes too much work' })
    t.equal(batch.status, 400)
    t.equal((await request('POST', '/evaluate/v1/batch', { requests: requests.slice(0, answered) })).status, 200)
  })

  await t.test('OFREP reads the namespace from its header, and never answers from another namespace', async (t) => {
    const shop = maker(service, 'shop')
    await shop.namespace()
    await shop.boolean('on', false)
    await shop.boolean('shop-only', true)
    const value = async (headers: Headers) => (await one('on', { targetingKey: 'e' }, headers)).json
    for (const headers of [
      { 'X-Peer-Namespace': 'shop' },
      { 'x-acme_2-namespace': 'shop' },
      { 'X-Acme-Namespace': 'shop', 'X-Other-Namespace': 'shop' },
      { 'X-Acme-Namespace': 'shop', 'X-Other-Namespace': '' },
      { 'X-Service-Namespace': 'shop', 'X-Acme-Namespace': 'nowhere' },
    ]) {
      t.match(await value(headers), { value: false }, JSON.stringify(headers))
      const { json } = await request<{ flags: readonly Said[] }>('POST', O, { context: {} }, headers)
      t.same(
        json.flags.map(({ key }) => key),
        ['on', 'shop-only'],
      )
    }
    for (const headers of [
      { 'X-Acme-Namespace': '' },
      { 'X-Service-Namespace': '', 'X-Acme-Namespace': 'shop' },
      { 'X-Acme-Namespaces': 'shop' },
      { 'X-Namespace': 'shop' },
      { 'Acme-Namespace': 'shop' },
    ])
      t.match(await value(headers), { value: true }, JSON.stringify(headers))
    t.match(await value({ 'X-Acme-Namespace': 'nowhere' }), { errorCode: 'FLAG_NOT_FOUND' })
    const two = { 'X-Acme-Namespace': 'shop', 'X-Other-Namespace': 'default' }
    for (const refused of [await one('on', {}, two), await request('POST', O, { context: {} }, two)]) {
      t.equal(refused.status, 400)
      t.match(refused.json, {
        errorCode: 'GENERAL',
        errorDetails: 'invalid header x-acme-namespace: names another namespace than x-other-namespace',
      })
    }
    const { json } = await request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
      name: 'of the shop',
      namespaceKey: 'shop',
    })
    const authorization = `Bearer ${json.clientToken}`
    t.equal((await one('on', {}, { authorization, 'X-Peer-Namespace': 'shop' })).status, 200)
    t.equal((await one('on', {}, { authorization, 'X-Peer-Namespace': 'default' })).status, 403)
    t.equal((await one('on', {}, { authorization, ...two })).status, 400)
  })
})
