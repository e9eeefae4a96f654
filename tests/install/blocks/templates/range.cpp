// needs: surrogate
#include <cstdio>
#include <surrogate/surrogate.hpp>
#define log std::printf
void solve(surrogate::Model& model, surrogate::Plan& plan) {
    @block@
}
int main() {}
