import { startService } from '../start.ts'
import { inReachOfEverybody } from './matrix.ts'
import { ofOpenService } from './screens.ts'

await inReachOfEverybody(ofOpenService, async (t) => {
  const service = await startService(t, {
    'authentication.required': 'false',
    'storage.read_only': 'true',
    'ui.topbar.label': 'PROD-EU',
    'rate_limit.enabled': 'false',
  })
  return { service, seeded: { at: '0', token: '', session: '' } }
})
