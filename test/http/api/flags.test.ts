import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'

await t.test('flags and their variants are created, read, changed and deleted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)

  await t.test('a flag is created with defaults under both paths of the API', async (t) => {
    const made = await create(t, '/api/v1/flags', { key: 'plain', name: 'Plain' })
    const { createdAt, updatedAt, ...rest } = made
    t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.equal(updatedAt, createdAt)
    t.same(rest, {
      key: 'plain',
      namespaceKey: 'default',
      name: 'Plain',
      description: '',
      enabled: false,
      type: 'VARIANT_FLAG_TYPE',
      variants: [],
      metadata: {},
    })
    t.same((await request('GET', `${N}/flags/plain`)).json, made)
    t.same((await request('GET', '/api/v1/flags/plain')).json, made)
    t.same((await request('GET', '/api/v1/namespaces//flags/plain')).json, made, 'an empty namespace is default')
  })

  await t.test('keys such as __proto__ and constructor are accepted', async (t) => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      await refused(t, ['GET', `${N}/flags/${key}`], `flag "default/${key}" not found`, 'not_found')
      await create(t, '/api/v1/flags', { key, name: 'x', metadata: { ['__proto__']: { a: 1 } } })
      t.match((await request('GET', `${N}/flags/${key}`)).text, /"metadata":\{"__proto__":\{"a":1\}\}/)
    }
  })

  await t.test('PUT replaces all fields of a flag and keeps absent metadata', async (t) => {
    await create(t, '/api/v1/flags', {
      key: 'put',
      name: 'x',
      description: 'd',
      enabled: true,
      type: 'BOOLEAN_FLAG_TYPE',
      metadata: { a: [1, null] },
    })
    const put = async (body: object) => (await request('PUT', `${N}/flags/put`, body)).json
    t.match(await put({ name: 'y', type: 0 }), {
      name: 'y',
      description: '',
      enabled: false,
      type: 'BOOLEAN_FLAG_TYPE',
      metadata: { a: [1, null] },
    })
    t.same((await put({ name: 'y', metadata: {} }))['metadata'], {})
    t.same((await put({ name: 'y', metadata: { b: 1 } }))['metadata'], { b: 1 })
  })

  await t.test('invalid fields of a flag are refused with the documented messages', async (t) => {
    const post = (body: object) => ['POST', '/api/v1/flags', { key: 'rules', name: 'x', ...body }] as const
    await refused(t, post({ key: 'a/b' }), 'invalid field key: contains invalid characters')
    await refused(t, post({ name: '' }), 'invalid field name: must not be empty')
    await refused(t, post({ type: 'OTHER' }), 'invalid field type: unknown value "OTHER"')
    await refused(t, post({ type: 2 }), 'invalid field type: unknown value "2"')
    await refused(t, post({ metadata: { a: 'x'.repeat(65_529) } }), 'invalid field metadata: must be less than 64 KB')
    await refused(t, post({ metadata: { a: { b: ['\0'] } } }), 'invalid field metadata: must not contain NUL')
    for (const [metadata, field] of [
      ['{"a":9007199254740993}', 'metadata.a'],
      ['{"b":{"c":[1,-9007199254740992]}}', 'metadata.b.c[1]'],
    ] as const)
      await refused(
        t,
        ['POST', '/api/v1/flags', `{"key":"rules","name":"x","metadata":${metadata}}`],
        `invalid field ${field}: must be an integer of at most 9007199254740991, or text`,
      )
    await refused(
      t,
      ['POST', '/api/v1/flags', '{"key":"rules","name":"x","metadata":{"a":1e400}}'],
      'invalid field metadata: must not contain numbers out of range',
    )
    await refused(
      t,
      post({ enabled: 'true' }),
      'request body is not valid: enabled must be true or false',
      'malformed_body',
    )
    await refused(t, post({ metadata: [] }), 'request body is not valid: metadata must be an object', 'malformed_body')
    await create(t, '/api/v1/flags', { key: 'rules', name: 'x', metadata: { a: 'x'.repeat(65_528) } })
    await refused(t, post({}), 'flag "default/rules" is not unique', 'not_unique')
    await refused(t, ['PUT', `${N}/flags/none`, { name: 'x' }], 'flag "default/none" not found', 'not_found')
  })

  await t.test('variants of a flag are created, changed and deleted', async (t) => {
    await create(t, '/api/v1/flags', { key: 'v', name: 'x' })
    const path = `${N}/flags/v/variants`
    const made = await create(t, '/api/v1/flags/v/variants', {
      key: 'ключ /?',
      name: 'n',
      description: 'd',
      attachment: ' {"a" : 1.50, "a":"\\u0041 b"}\n',
    })
    t.match(made, {
      id: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
      flagKey: 'v',
      namespaceKey: 'default',
      key: 'ключ /?',
    })
    t.equal(made['attachment'], '{"a":1.50,"a":"\\u0041 b"}')
    const second = await create(t, path, { key: 'two' })
    t.match(second, { name: '', description: '', attachment: '' })
    t.match((await request('GET', `${N}/flags/v`)).json, { variants: [made, second] })

    const post = (body: object) => ['POST', path, { key: 'x', ...body }] as const
    await refused(t, post({ key: '' }), 'invalid field key: must not be empty')
    await refused(t, post({ key: 'a\tb' }), 'invalid field key: must not contain control characters')
    await refused(t, post({ key: 'k'.repeat(256) }), 'invalid field key: must be at most 255 characters')
    await refused(t, post({ name: 'k'.repeat(256) }), 'invalid field name: must be at most 255 characters')
    await refused(t, post({ attachment: '{' }), 'invalid field attachment: must be a json string')
    await refused(
      t,
      post({ attachment: JSON.stringify('x'.repeat(1_024_000)) }),
      'invalid field attachment: must be less than 1000 KB',
    )
    await refused(t, post({ key: 'two' }), 'variant "two" is not unique for flag "default/v"', 'not_unique')
    await refused(t, ['POST', `${N}/flags/none/variants`, { key: 'x' }], 'flag "default/none" not found', 'not_found')
    await refused(t, ['PUT', `${path}/nope`, { key: 'x' }], 'variant "nope" not found', 'not_found')
    await refused(
      t,
      ['PUT', `${path}/${made.id}`, { key: 'two' }],
      'variant "two" is not unique for flag "default/v"',
      'not_unique',
    )
    t.match((await request('PUT', `${path}/${made.id}`, { key: 'one' })).json, {
      id: made.id,
      key: 'one',
      name: '',
      attachment: '',
    })

    const chosen = { name: 'x', defaultVariantId: second.id }
    t.match((await request('PUT', `${N}/flags/v`, chosen)).json, { defaultVariant: { id: second.id, key: 'two' } })
    await refused(
      t,
      ['PUT', `${N}/flags/v`, { ...chosen, defaultVariantId: 'no' }],
      'variant "no" not found for flag "default/v"',
    )
    t.same((await request('DELETE', `${path}/${second.id}`)).json, {})
    const left = (await request('GET', `${N}/flags/v`)).json
    t.notOk('defaultVariant' in left, 'it stopped being the default')
    t.match(left, { variants: [{ key: 'one' }] })
    await request('PUT', `${N}/flags/v`, { name: 'x', defaultVariantId: made.id })
    t.notOk('defaultVariant' in (await request('PUT', `${N}/flags/v`, { name: 'x' })).json)
  })

  await t.test('a flag may have seven attachments of the maximum size, but not eight', async (t) => {
    await create(t, '/api/v1/flags', { key: 'large', name: 'x' })
    const attachment = JSON.stringify('x'.repeat(1_023_998))
    const made = await create<{ readonly attachment: string }>(t, '/api/v1/flags/large/variants', {
      key: 'x',
      attachment,
    })
    t.equal(made.attachment.length, 1_024_000)
    for (let n = 2; n <= 7; n++) await create(t, '/api/v1/flags/large/variants', { key: String(n), attachment })
    const message = 'flag "default/large" must not be larger than 7 MiB with all its parts'
    await refused(t, ['POST', `${N}/flags/large/variants`, { key: '8', attachment }], message)
    await create(t, '/api/v1/flags/large/variants', { key: '8' })
    const { text } = await request('GET', `${N}/flags/large`)
    t.ok(text.length > 7 * 1_024_000)
  })

  await t.test('deleting a missing resource succeeds', async (t) => {
    for (const at of [
      'flags/none',
      'flags/none/variants/x',
      'flags/v/variants/x',
      'flags/v/rules/x',
      'flags/v/rollouts/x',
      'segments/none',
      'segments/none/constraints/x',
      'flags/v/rules/x/distributions/y?variantId=z',
    ]) {
      for (const root of [N, '/api/v1/namespaces/nowhere']) {
        const answer = await request('DELETE', `${root}/${at}`)
        t.same([answer.status, answer.json], [200, {}], `${root}/${at}`)
        t.match(answer.headers['event-position'], /^\d+$/)
      }
    }
    t.equal((await request('DELETE', `${N}/flags/v`)).status, 200)
    await refused(t, ['GET', `${N}/flags/v`], 'flag "default/v" not found', 'not_found')
  })
})
