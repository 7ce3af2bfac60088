import { inReachOfEverybody, withOpenService } from './matrix.ts'
import { ofOpenService } from './screens.ts'

await inReachOfEverybody(ofOpenService, withOpenService)
