import t from 'tap'
import { instance } from '../../src/commands/deployment.ts'
import type { InstanceEvent } from '../../src/events/deployment.ts'
import { given } from '../given.ts'

const history = given(instance)
const name = { instance: 'host-1a2b3c4d' }
const started = {
  type: 'InstanceStarted' as const,
  data: {
    ...name,
    version: '0.1.0',
    node: 'v20.20.2',
    storage: 'embedded',
    methods: ['token' as const],
    configDigest: '44136f',
  },
} satisfies InstanceEvent
const stopped = {
  type: 'InstanceStopped' as const,
  data: { ...name, cause: 'signal' as const },
} satisfies InstanceEvent
const rebuilt = {
  type: 'ReadModelsRebuilt' as const,
  data: { ...name, cause: 'shorter' as const, eventsGone: 1, readModels: ['tokens'] },
} satisfies InstanceEvent

await t.test('an instance records its start once and its stop once', async () => {
  history().when('RecordStart', started.data).then(started)
  history(rebuilt).when('RecordStart', started.data).then(started)
  history(started).when('RecordStart', started.data).then()
  history(started).when('RecordStop', stopped.data).then(stopped)
  history(started, stopped)
    .when('RecordStop', { ...name, cause: 'error' })
    .then()
})

await t.test('the stop of an instance is recorded even without its start', async () => {
  history().when('RecordStop', stopped.data).then(stopped)
})
