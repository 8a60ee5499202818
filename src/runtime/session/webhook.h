// One POST of a short JSON text, on a thread of its own that ends within some seconds whatever the network does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime {

// {"rank", "pid", "text"}; `size` at least 100.
void webhook_body(char* out, std::size_t size, const char* message, std::int32_t rank);

// `url`: http://HOST[:PORT][/PATH]. Null: on its way (whether it arrives is not known). Else why not.
const char* post_webhook(const char* url, const char* message, std::int32_t rank);

}  // namespace accel::runtime
