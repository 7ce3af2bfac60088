import t from 'tap'
import { startService } from '../../start.ts'

await t.test('a threshold rollout is created and answered as the contract shows it', async (t) => {
  const { request } = await startService(t)
  t.match(await request('POST', '/api/v1/flags', { key: 'f', name: 'F', type: 1 }), {
    status: 200,
    json: { type: 'BOOLEAN_FLAG_TYPE', enabled: false },
  })
  const made = await request('POST', '/api/v1/namespaces/default/flags/f/rollouts', {
    rank: 1,
    threshold: { percentage: 33.33, value: true },
  })
  t.match(made, {
    status: 200,
    headers: { etag: '"2"', 'event-position': /^\d+$/ },
    json: {
      id: /^[\da-f-]{36}$/,
      namespaceKey: 'default',
      flagKey: 'f',
      type: 'THRESHOLD_ROLLOUT_TYPE',
      rank: 1,
      description: '',
      threshold: { percentage: 33.33, value: true },
    },
  })
  t.match(made.text, /"percentage":33\.33[,}]/)
  const listed = await request('GET', '/api/v1/namespaces/default/flags/f/rollouts')
  t.match(listed, { status: 200, json: { rules: [made.json], rollouts: [made.json], totalCount: 1, nextPageToken: '' } })
  t.match(await request('GET', `/api/v1/namespaces/default/flags/f/rollouts/${String(made.json['id'])}`), {
    json: made.json,
    headers: { etag: '"2"' },
  })
  t.match(await request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'x', context: {} }), { status: 200 })
})
